"""Recurrences of sums and multiples become one product with constants, as one move."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.dims import symbol
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Item, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.spec.rule_file import read_rules
from terms import assert_same_values, tensor

OF_ROWS = {"Add", "Concat", "IdentityMatrix", "MatMul", "Mul", "Pad", "Reshape", "Slice", "Split", "Sub"}
DIVIDING = {"Div", "Reciprocal"}
STEPS = 5


def rules_over(op, operators):
    return Rewriter(op, RuleSet(tuple(rule for rule in read_rules(None, op) if rule.operators <= operators)))


@pytest.fixture(scope="module")
def rewriter(op):
    return rules_over(op, OF_ROWS | DIVIDING)


ONE, OTHER = tensor(Const, "a", 1), tensor(Const, "b")


def inputs(*shape, count=STEPS):
    return tensor(Var, "s", *shape), [tensor(Var, f"x{at}", *shape) for at in range(count)]


def averages(op, first, xs, fresh=ONE, kept=OTHER):
    states = [first]
    for x in xs:
        states.append(op.Add(op.Mul(x, fresh), op.Mul(states[-1], kept)))
    return states[1:]


def sequences(rewriter, *outputs):
    return list(Neighbourhood(outputs, is_constant=rewriter.is_constant).unrolled(rewriter, lambda: False))


def all_unrolled(op, rewriter, *outputs):
    """The outputs with the only region of the graph unrolled, in each of the shapes of rows; they compute the same."""
    found = []
    for _, replacements in sequences(rewriter, *outputs):
        found.append([rewriter.replaced(output, dict(replacements)) for output in outputs])
        assert_same_values(op, outputs, found[-1])
    return found


def unrolled(op, rewriter, *outputs):
    """The same, with all elements of a state in one row."""
    return all_unrolled(op, rewriter, *outputs)[0]


def live(rewriter, roots):
    """The operators that are computed when the model runs, but for other shapes of the same."""
    terms = [term for term in postorder(roots) if isinstance(term, Apply) and not rewriter.is_constant(term)]
    return sorted(term.operator for term in terms if term.operator != "Reshape")


@pytest.mark.parametrize(
    ("shape", "forms"), [((1, 6), 2), ((3, 4), 2), ((5,), 1), ((2, 1, 3), 3), ((1, 1, 4), 3), ((2, 3, 2, 2), 2)]
)
def test_all_states_are_one_product(op, rewriter, shape, forms):
    states = averages(op, *inputs(*shape))
    found = all_unrolled(op, rewriter, *states)
    assert len(found) == forms
    for new in found:
        assert live(rewriter, new) == ["Concat", "MatMul", "Split"]


def test_states_of_open_sizes_are_unrolled_too(op, rewriter):
    batch = symbol("N")
    first, xs = inputs(batch, 6)
    ((_, replacements), (_, in_batches)) = sequences(rewriter, *averages(op, first, xs))
    for new in ([one for _, one in replacements], [one for _, one in in_batches]):
        assert live(rewriter, new) == ["Concat", "MatMul", "Split"]
        assert {op.type(one).shape for one in new} == {(batch, 6)}


def test_the_constants_have_a_row_for_each_state_and_a_column_for_each_source(op, rewriter):
    (state, *_) = unrolled(op, rewriter, *averages(op, *inputs(1, 6)))
    assert op.type(state.term.args[0].args[0]).shape == (STEPS, STEPS + 1)


def test_of_the_last_state_alone_only_one_row_is_computed(op, rewriter):
    (last,) = unrolled(op, rewriter, averages(op, *inputs(1, 6))[-1])
    assert live(rewriter, [last]) == ["Concat", "MatMul"]
    assert op.type(last.args[0]).shape == (1, STEPS + 1)


def test_states_are_used_in_between(op, rewriter):
    states = averages(op, *inputs(1, 6))
    outputs = [op.Tanh(states[1]), states[3], op.Relu(states[3])]
    new = unrolled(op, rewriter, *outputs)
    assert live(rewriter, new) == ["Concat", "MatMul", "Relu", "Split", "Tanh"]
    assert new[1].term.attribute("sizes") == (1, 1)


def by_differences(op, first, xs):
    states = [first]
    for x in xs:
        states.append(op.Add(states[-1], op.Mul(ONE, op.Sub(x, states[-1]))))
    return states[1:]


def by_quotients(op, first, xs):
    states = [first]
    for x in xs:
        states.append(op.Div(op.Add(states[-1], x), OTHER))
    return states[1:]


def of_two_states(op, first, xs):
    level, trend, levels = first, xs[0], []
    for x in xs[1:]:
        before = level
        level = op.Add(op.Mul(x, ONE), op.Mul(op.Add(level, trend), OTHER))
        trend = op.Sub(op.Mul(level, OTHER), op.Sub(before, trend))
        levels.append(level)
    return levels


@pytest.mark.parametrize("recurrence", [by_differences, by_quotients, of_two_states])
def test_recurrences_of_other_words_are_unrolled_too(op, rewriter, recurrence):
    new = unrolled(op, rewriter, *recurrence(op, *inputs(1, 6)))
    assert live(rewriter, new) == ["Concat", "MatMul", "Split"]


def test_parts_of_one_tensor_are_that_tensor_again(op, rewriter):
    series, first = tensor(Var, "x", STEPS, 6), tensor(Var, "s", 1, 6)
    split = op.Split(series, axis=-2, sizes=(1,) * STEPS)
    parts = [Item(split, at) for at in range(STEPS)]
    slices = [op.Slice(series, axis=-2, sizes=(at, 1, STEPS - at - 1)) for at in range(STEPS)]
    for xs in (parts, slices):
        (last,) = unrolled(op, rewriter, averages(op, first, xs)[-1])
        assert set(last.args[1].args) == {first, series}


def test_states_that_their_inputs_depend_on_are_left_alone(op, rewriter):
    state, xs = inputs(1, 6)
    for x in xs:
        state = op.Add(op.Mul(x, ONE), op.Mul(op.Tanh(state), OTHER))
    assert not sequences(rewriter, state)


def test_integers_whose_quotients_are_rounded_are_left_alone(op, rewriter):
    first, two = tensor(Var, "s", 1, 6, dtype="int64"), tensor(Const, "two", 1, dtype="int64")
    state = first
    for at in range(STEPS):
        state = op.Div(op.Add(state, tensor(Var, f"x{at}", 1, 6, dtype="int64")), two)
    assert not sequences(rewriter, state)


def test_sums_without_numbers_and_short_ones_are_left_alone(op, rewriter):
    first, xs = inputs(1, 6)
    total = first
    for x in xs:
        total = op.Add(total, x)
    for output in (total, averages(op, first, xs[:2])[-1]):
        assert not sequences(rewriter, output)


@pytest.mark.parametrize("missing", ["IdentityMatrix", "Pad", "Add"])
def test_without_the_rules_there_is_no_sequence(op, missing):
    rewriter = rules_over(op, OF_ROWS - {missing})
    states = averages(op, *inputs(1, 6))
    assert not sequences(rewriter, *states)


def test_a_search_takes_all_of_it_at_once(op, rewriter):
    states = averages(op, *inputs(1, 6))
    search = BacktrackingSearch(op, rewriter, FakeCost(op), lambda term: True, 1.05, SearchLimits())
    best = min(search.run(tuple(states)).plans, key=lambda plan: plan.cost)
    assert live(rewriter, best.outputs) == ["Concat", "MatMul", "Split"]
    assert_same_values(op, states, best.outputs)
