"""Slices go down through all that feeds nothing else, in sequences of steps."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.generate.slices import discover_slices
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.descent import descents
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from terms import assert_same_values, tensor

PARTING = "879be01366d9"
"""A slice across two parts is the join of a slice of each."""


@pytest.fixture(scope="module")
def op():
    return load_specs().builder()


@pytest.fixture(scope="module")
def rules():
    library = load_specs()
    names = {"Slice", "MatMul", "Add", "Mul", "Erf", "Relu", "Concat", "ReduceMean", "Sub"}
    return RuleSet(discover_slices(library, 0, frozenset(names)))


def first_row(op, term, count=1):
    size = op.type(term).shape[-2]
    return op.Slice(term, axis=-2, sizes=(0, count, size - count))


def layer(op, x, at):
    """A residual layer with an activation of several operators that share an operand."""
    wide = op.MatMul(x, tensor(Const, f"w{at}", 8, 32))
    active = op.Mul(wide, op.Add(op.Erf(wide), tensor(Const, "one")))
    return op.Add(x, op.MatMul(active, tensor(Const, f"v{at}", 32, 8)))


def found(op, rules, *outputs):
    here = Neighbourhood(outputs)
    present = frozenset(here.terms)
    rewriter = Rewriter(op, rules)
    return [(steps, new) for steps, ((_, new),) in descents(here.terms, present, here.used_by, rewriter)]


def slices(roots):
    return [term for term in postorder(roots) if isinstance(term, Apply) and term.operator == "Slice"]


def test_a_slice_reaches_the_input_through_two_residual_layers(op, rules):
    x = tensor(Var, "x", 2, 6, 8)
    root = first_row(op, layer(op, layer(op, x, 0), 1))
    sequences = found(op, rules, root)
    lengths = [len(steps) for steps, _ in sequences]
    assert lengths == sorted(set(lengths))
    assert 2 < len(sequences) < 10
    last = sequences[-1][1]
    assert [cut.args for cut in slices([last])] == [(x,)]
    for _, new in sequences:
        assert_same_values(op, [root], [new])


def test_a_slice_stops_where_something_else_needs_the_whole(op, rules):
    x, w = tensor(Var, "x", 6, 8), tensor(Const, "w", 8, 8)
    inner = op.Relu(op.MatMul(x, w))
    root = first_row(op, op.Relu(op.MatMul(inner, tensor(Const, "v", 8, 8))))
    (*_, (_, last)) = found(op, rules, root, op.Sub(inner, x))
    assert [cut.args for cut in slices([last])] == [(inner,)]


def test_a_slice_of_an_output_of_the_graph_does_not_move(op, rules):
    x = tensor(Var, "x", 6, 8)
    whole = op.Relu(x)
    assert found(op, rules, first_row(op, whole), whole) == []


def test_a_slice_of_columns_goes_into_weights_and_ends_there(op, rules):
    x, w, bias = tensor(Var, "x", 6, 8), tensor(Const, "w", 8, 10), tensor(Const, "b", 10)
    root = op.Slice(op.Add(op.MatMul(x, w), bias), axis=-1, sizes=(2, 3, 5))
    (*_, (_, last)) = found(op, rules, root)
    assert {cut.args[0] for cut in slices([last])} == {w, bias}
    assert_same_values(op, [root], [last])


def test_a_slice_of_a_concatenation_takes_what_it_lies_in(op, rules):
    x, y = tensor(Var, "x", 6, 8), tensor(Var, "y", 4, 8)
    joined = op.Concat(x, y, axis=-2)
    for sizes, cuts in (((0, 2, 8), {(x, (0, 2, 4))}), ((7, 3, 0), {(y, (1, 3, 0))})):
        (*_, (_, last)) = found(op, rules, op.Slice(joined, axis=-2, sizes=sizes))
        assert {(cut.args[0], cut.attribute("sizes")) for cut in slices([last])} == cuts
    across = op.Slice(joined, axis=-2, sizes=(5, 3, 2))
    (*_, (_, last)) = found(op, rules, across)
    assert {cut.args[0] for cut in slices([last])} == {x, y}
    assert_same_values(op, [across], [last])


def test_the_search_computes_only_the_row_that_is_used(op, rules):
    x = tensor(Var, "x", 64, 8)
    root = first_row(op, layer(op, x, 0))
    cost = FakeCost(op)
    search = BacktrackingSearch(op, Rewriter(op, rules), cost, lambda term: True, 1.05, SearchLimits(expansions=20))
    best = search.run((root,)).plans[0]
    assert best.cost < 0.3 * cost.cost((root,))
    assert [cut.args for cut in slices(best.outputs)] == [(x,)]
    assert_same_values(op, [root], [best.outputs[0]])


@pytest.mark.parametrize("sizes", [(2, 10, 0), (0, 10, 2), (2, 8, 2)])
def test_a_slice_goes_on_through_the_join_of_what_is_left_of_three_parts(op, sizes):
    """The parts behind the first are joined anew, by a term that the graph does not have."""
    whole = op.Concat(*(op.Relu(tensor(Var, name, 4, 8)) for name in "abc"), axis=-2)
    start = op.Slice(whole, axis=-2, sizes=sizes)
    (rule,) = (rule for rule in read_rules(None, op) if rule.name == PARTING)
    sequences = found(op, RuleSet((rule,)), start)
    assert sequences
    for _, new in sequences:
        assert_same_values(op, [start], [new])
