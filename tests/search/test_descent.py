"""Slices and joins go down through all that feeds nothing else, in sequences of steps."""

from collections import Counter

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.generate.schemes.lookups import discover_lookups
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.search.sequences.descent import descents
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

PARTING = "879be01366d9"
"""A slice across two parts is the join of a slice of each."""


@pytest.fixture(scope="module")
def rules():
    library = load_specs()
    names = {"Slice", "MatMul", "Add", "Mul", "Erf", "Relu", "Concat", "ReduceMean", "Sub", "Softmax", "Where", "IsNaN"}
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


def test_a_slice_passes_what_stands_for_no_number_behind_a_softmax(op, rules):
    scores, values = tensor(Var, "s", 2, 6, 7), tensor(Var, "v", 2, 7, 8)
    shares = op.Softmax(op.Mul(scores, tensor(Const, "scale")), axis=-1)
    root = first_row(op, op.MatMul(op.Where(op.IsNaN(shares), tensor(Const, "zero"), shares), values))
    (*_, (_, last)) = found(op, rules, root)
    assert [cut.args for cut in slices([last])] == [(scores,)]
    assert_same_values(op, [root], [last])


def test_a_lookup_of_a_few_rows_goes_down_like_a_slice(op, library):
    """Though its places are no constants, and others look rows up at the same ones."""
    names = frozenset({"Add", "Erf", "Gather", "MatMul", "Mul"})
    x, places = tensor(Var, "x", 2, 6, 8), tensor(Var, "places", 1, dtype="int64")
    root = op.Gather(layer(op, layer(op, x, 0), 1), places, axis=-2)
    beside = op.Gather(tensor(Var, "y", 2, 6, 8), places, axis=-2)
    (*_, (_, last)) = found(op, RuleSet(discover_lookups(library, 0, names)), root, beside)
    lookups = [term for term in postorder([last]) if isinstance(term, Apply) and term.operator == "Gather"]
    assert [one.args for one in lookups] == [(x, places)]
    assert_same_values(op, [root], [last])


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


ROWS = "where x[*b, m, k], y[*b, n, k]"
STACKED = "Concat(x, y; axis=-2)"
BOTH = "(Split({0}; axis=-2, sizes=(m, n))[0], Split({0}; axis=-2, sizes=(m, n))[1])"
WINDOW = "dilations=(d_h, d_w), {}, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
GROUPING = (
    f"Concat(Conv(x, y; {WINDOW.format('group=g')}), Conv(z, w; {WINDOW.format('group=e')}); axis=-3) = "
    f"Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-4); {WINDOW.format('group=e+g')}) "
    "where w[e*m, c, i, j], x[n, c*g, h, w], y[g*m, c, i, j], z[n, c*e, h, w]",
    f"Conv(x, y; {WINDOW.format('group=2*g')}) = Conv(x, PairGroups(y; group=g); {WINDOW.format('group=g')}) "
    "where x[n, 2*g*w, c, h], y[2*g*j, w, m, i]",
)
JOINS = (
    f"Concat(MatMul(x, z), MatMul(y, z); axis=-2) = MatMul({STACKED}, z) {ROWS}, z[k, p]",
    f"(MatMul(x, z), MatMul(y, z)) = {BOTH.format(f'MatMul({STACKED}, z)')} {ROWS}, z[k, p]",
    f"Concat(Mul(x, u), Mul(y, v); axis=-2) = Mul({STACKED}, Concat(u, v; axis=-2)) {ROWS}, u[*b, m, k], v[*b, n, k]",
    f"Concat(Add(x, s), Add(y, s); axis=-2) = Add({STACKED}, s) {ROWS}, s[]",
    f"Concat(Erf(x), Erf(y); axis=-2) = Erf({STACKED}) {ROWS}",
    f"{BOTH.format(STACKED)} = (x, y) {ROWS}",
)


@pytest.fixture(scope="module")
def joins(op):
    return RuleSet(tuple(parse_rule(text, op) for text in JOINS))


def tower(op, x, layers):
    """Layers with an activation of several operators, each of which has its weights from all towers."""
    for at in range(layers):
        wide = op.MatMul(x, tensor(Const, f"w{at}", 8, 8))
        x = op.Mul(wide, op.Add(op.Erf(wide), tensor(Const, "one")))
    return x


def joined(op, rules, *outputs):
    """What each sequence that takes a join down replaces, and with what."""
    here, rewriter = Neighbourhood(outputs), Rewriter(op, rules)
    merges = list(rewriter.steps(here.terms))
    present = frozenset(here.terms)
    return [(steps, dict(pairs)) for steps, pairs in descents(here.terms, present, here.used_by, rewriter, merges)]


def joins_in(roots):
    return [term for term in postorder(roots) if isinstance(term, Apply) and term.operator == "Concat"]


def test_what_towers_compute_one_by_one_is_computed_once_from_the_last_merge_down_to_the_inputs(op, joins):
    inputs = [tensor(Var, f"x{at}", 1, 8) for at in range(3)]
    outputs = [tower(op, x, 2) for x in inputs]
    sequences = joined(op, joins, *outputs)
    assert len(sequences) < 4
    (_, images) = sequences[-1]
    products = [term for term in images if term.operator == "MatMul"]
    assert len(products) == len(images) == 3
    new = op_outputs(op, outputs, images)
    assert [set(join.args) for join in joins_in(new)] == [set(inputs)]
    assert sum(term.operator == "MatMul" for term in postorder(new) if isinstance(term, Apply)) == 2
    for _, images in sequences:
        assert_same_values(op, outputs, op_outputs(op, outputs, images))


def op_outputs(op, outputs, images):
    found = substitute_terms(op, tuple(outputs), images)
    assert found is not None
    return found


def test_a_join_stops_where_something_else_needs_an_operand(op, joins):
    inputs = [tensor(Var, f"x{at}", 1, 8) for at in range(2)]
    outputs = [tower(op, x, 3) for x in inputs]
    inner = [tower(op, x, 1) for x in inputs]
    free, held = joined(op, joins, *outputs), joined(op, joins, *outputs, op.Relu(inner[0]))
    assert 0 < max(len(steps) for steps, _ in held) < max(len(steps) for steps, _ in free)
    assert any(set(join.args) == set(inner) for _, images in held for join in joins_in(images.values()))


def test_a_join_of_the_graph_goes_down_and_what_it_has_passed_begins_no_more(op, joins):
    x, y = (tensor(Var, name, 2, 8) for name in "xy")
    root = op.Concat(tower(op, x, 1), tower(op, y, 1), axis=-2)
    sequences = joined(op, joins, root)
    assert {old for _, images in sequences for old in images} == {root}
    (_, images) = sequences[-1]
    assert joins_in(images.values()) == [op.Concat(x, y, axis=-2)]
    assert_same_values(op, [root], [images[root]])


def test_the_search_merges_all_of_several_towers(op, joins):
    """No rule merges what two parts of one split each feed, as the factors of an activation: their join goes down."""
    inputs = [tensor(Var, f"x{at}", 1, 8) for at in range(4)]
    outputs = tuple(tower(op, x, 2) for x in inputs)
    cost = FakeCost(op)
    search = BacktrackingSearch(op, Rewriter(op, joins), cost, lambda term: True, 1.0, SearchLimits(expansions=3))
    best = search.run(outputs).plans[0]
    assert best.cost < 0.5 * cost.cost(outputs)
    counted = Counter(term.operator for term in postorder(best.outputs) if isinstance(term, Apply))
    last, before = len(inputs), 1
    assert counted["MatMul"] == 2
    assert counted["Mul"] == counted["Add"] == counted["Erf"] == before + last
    assert_same_values(op, outputs, best.outputs)


def test_what_a_join_has_made_one_convolution_has_its_groups_paired_in_the_same_sequence(op):
    rules = RuleSet(tuple(parse_rule(text, op) for text in GROUPING))
    same = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": 1}
    branches = [
        op.Conv(tensor(Var, f"x{at}", 1, 2, 4, 4), tensor(Const, f"w{at}", 3, 2, 3, 3), **same) for at in range(4)
    ]
    root = op.Concat(*branches, axis=-3)
    sequences = joined(op, rules, root)
    assert [images[root].attribute("group") for _, images in sequences] == [4, 2, 1]
    assert [len(steps) for steps, _ in sequences] == [1, 2, 3]
    for _, images in sequences:
        assert_same_values(op, [root], [images[root]])
