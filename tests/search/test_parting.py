"""A product of a sum is taken apart where its parts fold into weights, although that alone would cost more."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.search.sequences.parting import parted
from taso_opt.spec.text import parse_rule

APART = "MatMul(Add(x, y), z) = Add(MatMul(x, z), MatMul(y, z)) where x[*b, m, k], y[*b, m, k], z[k, n]"
CHAIN = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[k, n], z[n, p]"
APART_OF_JOIN = (
    "MatMul(Concat(x, y; axis=-1), Concat(z, w; axis=-2)) = Add(MatMul(x, z), MatMul(y, w)) "
    "where x[*b, m, k], y[*b, m, n], z[k, p], w[n, p]"
)
CUT = "Concat(Split(x; axis=-2, sizes=(n, p))[0], Split(x; axis=-2, sizes=(n, p))[1]; axis=-2) = x where x[*b, n+p, m]"
LOOKED_UP = "MatMul(Gather(x, y; axis=-2), z) = Gather(MatMul(x, z), y; axis=-2) where x[m, k], y[*b]: int64, z[k, n]"
JOIN = "Add(MatMul(x, y), MatMul(x, z)) = MatMul(x, Add(y, z)) where x[*b, m, k], y[k, n], z[k, n]"


@pytest.fixture
def rewriter(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (APART, CHAIN, JOIN))))


def var(name, *shape):
    return Var(name, TensorType("float32", shape))


def const(name, *shape):
    return Const(name, TensorType("float32", shape))


X, Y = var("x", 4, 16), var("y", 4, 16)
A, B, C = (const(name, 16, 16) for name in "abc")


def images(op, rewriter, *outputs):
    return [(old, new) for _, ((old, new),) in partings(rewriter, *outputs)]


def partings(rewriter, *outputs):
    here = Neighbourhood(outputs)
    return list(parted(here.terms, here.only_consumer, rewriter.sums(here.terms), rewriter))


def test_the_parts_of_a_product_join_what_else_is_added(op, rewriter):
    product = op.MatMul(op.Add(op.MatMul(X, A), Y), B)
    whole = op.Add(product, op.MatMul(X, C))
    parts = op.MatMul(X, op.MatMul(A, B)), op.MatMul(Y, B)
    joined = op.Add(op.MatMul(X, op.Add(op.MatMul(A, B), C)), parts[1])
    assert set(images(op, rewriter, whole)) >= {(product, op.Add(*parts)), (whole, joined)}


def test_a_part_is_folded_again_and_again(op, rewriter):
    product = op.MatMul(op.Add(op.MatMul(op.MatMul(X, A), C), Y), B)
    once = op.Add(op.MatMul(op.MatMul(X, A), op.MatMul(C, B)), op.MatMul(Y, B))
    twice = op.Add(op.MatMul(X, op.MatMul(A, op.MatMul(C, B))), op.MatMul(Y, B))
    assert images(op, rewriter, product) == [(product, once), (product, twice)]


def test_a_product_whose_parts_do_not_fold_is_left_alone(op, rewriter):
    assert images(op, rewriter, op.MatMul(op.Add(op.Relu(X), Y), B)) == []
    assert images(op, rewriter, op.MatMul(op.Add(op.MatMul(X, A), Y), var("z", 16, 16))) == []


def test_the_steps_of_a_sequence_say_how_it_came_about(op, rewriter):
    product = op.MatMul(op.Add(op.MatMul(X, A), Y), B)
    ((steps, _),) = partings(rewriter, product)
    assert [step.rule.rule for step in steps] == [parse_rule(APART, op), parse_rule(CHAIN, op)]


def test_the_search_takes_a_product_apart_though_two_products_cost_more_than_one(op, rewriter):
    outputs = (op.Add(op.MatMul(op.Add(op.MatMul(X, A), Y), B), op.MatMul(X, C)),)
    finder = BacktrackingSearch(op, rewriter, FakeCost(op), lambda term: True, 1.0, SearchLimits())
    best = finder.run(outputs).plans[0]
    assert best.outputs == (op.Add(op.MatMul(X, op.Add(op.MatMul(A, B), C)), op.MatMul(Y, B)),)
    assert best.cost < FakeCost(op).cost(outputs)


@pytest.fixture
def joining(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (APART_OF_JOIN, CUT, LOOKED_UP))))


@pytest.mark.parametrize("kind", [Var, Const])
def test_the_parts_of_a_product_of_joined_rows_are_computed_of_the_tables(op, joining, kind):
    """Whether these are the nodes of a graph, or constant: 20 edges have two ends each."""
    table = kind("table", TensorType("float32", (8, 16)))
    ends = [op.Gather(table, Var(name, TensorType("int64", (20,))), axis=-2) for name in ("from", "to")]
    weights = const("w", 32, 16)
    product = op.MatMul(op.Concat(*ends, axis=-1), weights)
    parts = op.Split(weights, axis=-2, sizes=(16, 16))
    made = [op.Gather(op.MatMul(table, op.item(parts, at)), end.args[1], axis=-2) for at, end in enumerate(ends)]
    assert (product, op.Add(*made)) in images(op, joining, product)


DIFFERENCE = "MatMul(Sub(x, y), z) = Sub(MatMul(x, z), MatMul(y, z)) where x[*b, m, k], y[*b, m, k], z[k, n]"
LAID_OUT = (
    "Reshape(Gather(x, y; axis=-2); shape=(*s, k)) = Gather(x, Reshape(y; shape=(*s,)); axis=-2) "
    "where x[m, k], y[*b]: int64"
)


@pytest.fixture
def parting_neighbours(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (DIFFERENCE, LOOKED_UP, LAID_OUT))))


def test_the_product_of_a_neighbour_relative_to_a_node_is_computed_of_the_nodes(op, parting_neighbours):
    nodes, weights = var("nodes", 8, 16), const("w", 16, 4)
    ends = [Var(name, TensorType("int64", (20,))) for name in ("from", "to")]
    product = op.MatMul(op.Sub(*(op.Gather(nodes, end, axis=-2) for end in ends)), weights)
    made = [op.Gather(op.MatMul(nodes, weights), end, axis=-2) for end in ends]
    assert (product, op.Sub(*made)) in images(op, parting_neighbours, product)


def test_neighbours_that_are_laid_out_anew_are_looked_up_as_they_are_to_lie(op, parting_neighbours):
    nodes, weights, each = var("nodes", 8, 16), const("w", 16, 4), var("each", 5, 4, 16)
    ids = Var("ids", TensorType("int64", (20,)))
    neighbours = op.Reshape(op.Gather(nodes, ids, axis=-2), shape=(5, 4, 16))
    product = op.MatMul(op.Sub(neighbours, each), weights)
    looked_up = op.Gather(op.MatMul(nodes, weights), op.Reshape(ids, shape=(5, 4)), axis=-2)
    assert (product, op.Sub(looked_up, op.MatMul(each, weights))) in images(op, parting_neighbours, product)


def test_a_product_of_what_is_laid_out_anew_without_a_lookup_is_left_whole(op, parting_neighbours):
    rows = op.Reshape(var("rows", 20, 16), shape=(5, 4, 16))
    assert images(op, parting_neighbours, op.MatMul(op.Sub(rows, var("each", 5, 4, 16)), const("w", 16, 4))) == []


def test_a_product_of_a_join_without_lookups_is_left_whole(op, joining):
    product = op.MatMul(op.Concat(X, Y, axis=-1), const("w", 32, 16))
    assert images(op, joining, product) == []


def test_of_three_joined_operands_each_that_is_looked_up_is_moved(op, joining):
    ids = Var("ids", TensorType("int64", (4,)))
    tables = [const(f"t{at}", 8, 16) for at in range(2)]
    rows = [op.Gather(table, ids, axis=-2) for table in tables]
    product = op.MatMul(op.Concat(rows[0], X, rows[1], axis=-1), const("w", 48, 16))
    steps = [steps for steps, _ in partings(joining, product)]
    assert max(len(some) for some in steps) == 3


ONCE = (
    "MatMul(Expand(x; shape=(*b, n, m)), y) = Expand(MatMul(x, y); shape=(*b, n, k)) where x[*b, 1, m], y[m, k]",
    "Add(Expand(x; shape=(*b, m, n)), y) = Add(x, y) where x[*b, 1, n], y[*b, m, n]",
)


@pytest.fixture
def expanding(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (APART_OF_JOIN, CUT, *ONCE))))


def test_what_is_repeated_for_a_join_is_multiplied_once_and_broadcast(op, expanding):
    """A code that each of 20 points is given beside its own numbers."""
    code, points = var("code", 1, 1, 16), var("points", 1, 20, 3)
    repeated = op.Expand(code, shape=(1, 20, 16))
    weights = const("w", 19, 8)
    product = op.MatMul(op.Concat(repeated, points, axis=-1), weights)
    parts = op.Split(weights, axis=-2, sizes=(16, 3))
    once, each = op.MatMul(code, op.item(parts, 0)), op.MatMul(points, op.item(parts, 1))
    found = [new for old, new in images(op, expanding, product) if old is product]
    assert op.Add(op.Expand(once, shape=(1, 20, 8)), each) in found
    assert op.Add(once, each) in found


def test_a_product_of_what_is_repeated_already_is_left_to_single_steps(op, expanding):
    assert images(op, expanding, op.MatMul(op.Expand(var("x", 1, 16), shape=(9, 16)), const("w", 16, 8))) == []
