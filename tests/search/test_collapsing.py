"""Expressions that one operator says are found in spellings that are some steps from its definition."""

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.moves import moves_from
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.sequences import collapsing, lookahead
from taso_opt.search.sequences.collapsing import collapsed
from taso_opt.search.trials import Trials
from taso_opt.spec.text import parse_rule
from terms import tensor

SOFTPLUS = "Log(Add(1, Exp(x))) = Softplus(x) where x[*b]"
MISH = "Mul(x, Tanh(Softplus(Add(x, s)))) = Mish(x) where x[*b], s[]"
"""No truth, but a rule whose left side has many operators, as definitions have."""


def sequences(op, whole, is_hopeless=lambda rules: False, among=(SOFTPLUS, MISH)):
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in among)))
    here = Neighbourhood((whole,), is_constant=rewriter.is_constant)
    return list(collapsed(here.terms, here.only_consumer, rewriter, is_hopeless))


def shifted(op, x):
    return op.Add(x, tensor(Const, "s"))


def spelled(op, x):
    """One step from what MISH says."""
    return op.Mul(x, op.Tanh(op.Log(op.Add(literal(1, "float32"), op.Exp(shifted(op, x))))))


@pytest.fixture
def x():
    return tensor(Var, "x", 16, 8)


def test_the_last_of_some_steps_leaves_one_operator(op, x):
    ((steps, pairs),) = sequences(op, spelled(op, x))
    assert [step.rule.rule for step in steps] == [parse_rule(rule, op) for rule in (SOFTPLUS, MISH)]
    assert pairs == ((spelled(op, x), op.Mish(x)),)


def test_the_whole_expression_is_what_is_replaced(op, x):
    product = op.MatMul(op.Relu(spelled(op, x)), tensor(Const, "w", 8, 8))
    ((_, pairs),) = sequences(op, product)
    assert pairs == ((op.Relu(spelled(op, x)), op.Relu(op.Mish(x))),)


def test_what_stands_below_another_operator_is_an_expression_of_its_own(op, x):
    below = op.MatMul(x, tensor(Const, "w", 8, 8))
    ((_, pairs),) = sequences(op, op.Relu(spelled(op, below)))
    assert pairs == ((op.Relu(spelled(op, below)), op.Relu(op.Mish(below))),)


def test_one_step_alone_is_no_sequence(op, x):
    assert sequences(op, op.Mul(x, op.Tanh(op.Softplus(shifted(op, x))))) == []


def test_expressions_that_are_long_or_too_many_steps_away_are_left(op, x, monkeypatch):
    monkeypatch.setattr(collapsing, "MOST_OPERATORS", 5)
    assert sequences(op, spelled(op, x)) == []
    monkeypatch.setattr(collapsing, "MOST_OPERATORS", 6)
    assert sequences(op, spelled(op, x))
    monkeypatch.setattr(lookahead, "MOST_STEPS", 1)
    assert sequences(op, spelled(op, x)) == []


def test_at_places_that_look_alike_all_are_collapsed(op, x):
    weights = [tensor(Const, f"w{at}", 8, 8) for at in range(3)]
    below = [op.MatMul(x, weight) for weight in weights]
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (SOFTPLUS, MISH))))
    outputs = tuple(op.MatMul(spelled(op, one), weights[0]) for one in below)
    single, joint = moves_from(
        Neighbourhood(outputs, is_constant=rewriter.is_constant),
        rewriter,
        lambda changes, _: [-float(change.saved) for change in changes],
        Trials(),
    )
    wanted = {(spelled(op, one), op.Mish(one)) for one in below}
    assert wanted <= {pair for move in single for pair in move.replacements}
    assert wanted in [set(move.replacements) for move in joint]


def test_what_leads_to_no_gain_elsewhere_is_not_followed(op, x):
    assert sequences(op, spelled(op, x), is_hopeless=lambda rules: len(rules) == 1) == []
    assert sequences(op, spelled(op, x), is_hopeless=lambda rules: len(rules) == 3)
