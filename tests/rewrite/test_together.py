"""Rules about several results at once are found at one that tells the others, and replace those that a graph has."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, postorder
from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

MIXED = "(Add(x, Tanh(y)), Sub(y, x)) = (Sub(x, Tanh(Neg(y))), Neg(Sub(x, y))) where x[*b, n], y[*b, n]"
LOPSIDED = "(Sub(Relu(x), Tanh(y)), Relu(x)) = (Add(Relu(x), Tanh(Neg(y))), Relu(Relu(x))) where x[n], y[n]"
UNTOLD = "(Sub(Relu(x), Tanh(x)), Relu(y)) = (Add(Relu(x), Tanh(Neg(x))), Relu(Relu(y))) where x[n], y[n]"
RECURRENT = frozenset({"LSTM", "Concat", "Slice", "Reshape"})


@pytest.fixture(scope="module")
def joining(op):
    return Rewriter(op, RuleSet(discover_definitions(load_specs(), RECURRENT, ())))


def lstm(op, x, states, size=3):
    inputs = op.type(x).shape[-1]
    weights = (tensor(Const, "w", 1, 4 * size, inputs), tensor(Const, "r", 1, 4 * size, size))
    return op.LSTM(x, *weights, tensor(Const, "b", 1, 8 * size), *states)


def two(op):
    states = [tensor(Var, name, 1, 2, 3) for name in "hc"]
    first = lstm(op, tensor(Var, "x", 2, 2, 5), states)
    return first, lstm(op, tensor(Var, "y", 3, 2, 5), [op.item(first, 1), op.item(first, 2)])


def test_each_result_that_tells_all_others_leads(op):
    forms = CompiledRules(RuleSet((parse_rule(MIXED, op),)), op)
    assert [len(form.others) for form in forms] == [1] * 4  # two results in two directions
    forms = CompiledRules(RuleSet((parse_rule(LOPSIDED, op),)), op)
    assert [len(form.others) for form in forms] == [1] * 2  # Relu(x) alone does not tell y
    assert not CompiledRules(RuleSet((parse_rule(UNTOLD, op),)), op)


def test_what_the_graph_has_of_the_results_is_replaced_at_once(op):
    rewriter = Rewriter(op, RuleSet((parse_rule(MIXED, op),)))
    x, y = (tensor(Var, name, 4, 3) for name in "xy")
    both = [op.Add(x, op.Tanh(y)), op.Relu(op.Sub(y, x))]
    steps = [step for step in rewriter.steps(postorder(both)) if len(step.replacements) == 2]
    assert steps
    for step in steps:
        assert_same_values(op, both, substitute_terms(op, both, step.mapping))
    (alone,) = rewriter.steps(postorder(both[:1]))
    assert [old for old, _ in alone.replacements] == both[:1]


def test_what_a_rule_leaves_as_it_is_is_not_replaced(op):
    rule = parse_rule("(Sub(x, Tanh(y)), Mul(x, y)) = (Add(x, Tanh(Neg(y))), Mul(y, x)) where x[n], y[n]", op)
    x, y = (tensor(Var, name, 3) for name in "xy")
    (step,) = Rewriter(op, RuleSet((rule,))).steps(postorder([op.Sub(x, op.Tanh(y)), op.Mul(x, y)]))
    assert [old for old, _ in step.replacements] == [op.Sub(x, op.Tanh(y))]


@pytest.mark.parametrize(
    "used",
    [
        [(1, 1)],
        [(1, 1), (1, 2)],
        [(1, 0)],
        [(1, 1), (0, 0)],
        [(1, 2), (0, 1)],
        [(1, 0), (0, 0), (0, 1), (1, 1), (1, 2)],
    ],
)
def test_two_sequences_one_after_the_other_are_one_whatever_is_used_of_them(op, joining, used):
    both = two(op)
    outputs = [op.item(both[at], output) for at, output in used]
    (step,) = joining.together(postorder(outputs))
    new = substitute_terms(op, outputs, step.mapping)
    assert sum(getattr(term, "operator", "") == "LSTM" for term in postorder(new)) == 1
    assert_same_values(op, outputs, new)


def test_the_last_cell_of_the_first_sequence_keeps_that_if_it_is_used_elsewhere(op, joining):
    first, second = two(op)
    outputs = [op.item(second, 1), op.item(first, 2)]
    (step,) = joining.together(postorder(outputs))
    new = substitute_terms(op, outputs, step.mapping)
    assert sum(getattr(term, "operator", "") == "LSTM" for term in postorder(new)) == 2
    assert_same_values(op, outputs, new)


def test_a_sequence_with_other_weights_or_states_is_left_alone(op, joining):
    first, _ = two(op)
    h, c = (op.item(first, output) for output in (1, 2))
    y, own = tensor(Var, "y", 3, 2, 5), tensor(Const, "other", 1, 12, 3)
    for states, weights in (((c, h), "r"), ((h, h), "r"), ((h, c), "other")):
        left = tensor(Const, "r", 1, 12, 3) if weights == "r" else own
        second = op.LSTM(y, tensor(Const, "w", 1, 12, 5), left, tensor(Const, "b", 1, 24), *states)
        assert not list(joining.together(postorder([op.item(second, 1)])))
