"""A row is added to a tensor where a search asks for it, and nowhere else."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var
from taso_opt.rewrite.patterns.rows import adds_a_row
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule
from terms import tensor

ROW = "x = Squeeze(Unsqueeze(x; axis=-2); axis=-2) where x[*b, m]"
OTHERS = (
    "x = Unsqueeze(Squeeze(x; axis=-2); axis=-2) where x[*b, 1, m]",
    "Relu(x) = Squeeze(Relu(Unsqueeze(x; axis=-2)); axis=-2) where x[*b, m]",
    "x = Squeeze(Unsqueeze(x; axis=-3); axis=-3) where x[*b, m, n]",
    "x = Squeeze(Unsqueeze(x; axis=-2); axis=-3) where x[*b, 1, m]",
)


def rewriter(op, *texts):
    return Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in texts)))


def test_a_row_is_added_and_taken_away_where_it_is_asked_for(op):
    term = op.Relu(tensor(Var, "x", 2, 3, 5))
    step = rewriter(op, ROW).with_row(term)
    assert step.replacements == ((term, op.Squeeze(op.Unsqueeze(term, axis=-2), axis=-2)),)
    assert adds_a_row(step.rule.rule)


def test_no_row_is_added_without_such_a_rule_or_to_a_number(op):
    assert rewriter(op, *OTHERS).with_row(tensor(Var, "x", 2, 3, 5)) is None
    assert rewriter(op, ROW).with_row(tensor(Var, "x")) is None


def test_the_rule_does_not_fit_a_term_by_itself_and_undoes_a_row(op):
    found, x = rewriter(op, ROW), tensor(Var, "x", 2, 3, 5)
    assert found.rewrites(op.Relu(x)) == ()
    bare = op.Squeeze(op.Unsqueeze(x, axis=-2), axis=-2)
    assert [step.replacements for step in found.rewrites(bare)] == [((bare, x),)]


@pytest.mark.parametrize("text", OTHERS)
def test_other_rules_do_not_add_a_row(op, text):
    rule = parse_rule(text, op)
    assert not any(map(adds_a_row, (rule, rule.reversed())))
