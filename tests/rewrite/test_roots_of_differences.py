"""A variance is a mean of squared deviations, or of squares less a square: rules lead to the first alone."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.ruleset.directions import useful
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule

MEAN = "ReduceMean(x; axes=(-1,))"
DEVIATIONS = f"ReduceMean(Mul(Sub(x, {MEAN}), Sub(x, {MEAN})); axes=(-1,))"
SQUARES = f"Sub(ReduceMean(Mul(x, x); axes=(-1,)), Mul({MEAN}, {MEAN}))"
NORMALIZED = "Div(Sub(x, ReduceMean(x; axes=(-1,))), Sqrt(Add({}, epsilon)))"
ROOT = "Pow(Add({}, epsilon); exponent=(-1, 2))"
WHERE = " where epsilon[], x[*b, n]"
EQUATIONS = (
    f"{NORMALIZED.format(DEVIATIONS)} = {NORMALIZED.format(SQUARES)}{WHERE}",
    f"{ROOT.format(DEVIATIONS)} = {ROOT.format(SQUARES)}{WHERE}",
    f"LayerNormalization(x, epsilon) = {NORMALIZED.format(SQUARES)}{WHERE}",
)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_no_root_is_made_of_a_difference_that_rounding_may_leave_below_zero(op, equation):
    rule = parse_rule(equation, op)
    assert useful(rule, op) is None
    assert useful(rule.reversed(), op) == rule.reversed()


def test_a_root_of_a_difference_may_be_said_in_another_way(op):
    rule = parse_rule(f"Sqrt(Add({SQUARES}, epsilon)) = Pow(Add({SQUARES}, epsilon); exponent=(1, 2)){WHERE}", op)
    assert useful(rule, op) == rule and useful(rule.reversed(), op) == rule.reversed()


def test_a_normalization_by_deviations_has_no_step_to_one_by_squares(op):
    x, epsilon = Var("x", TensorType("float32", (4, 8))), Var("epsilon", TensorType("float32", ()))
    rewriter = Rewriter(op, RuleSet((parse_rule(EQUATIONS[0], op),)))
    mean = op.ReduceMean(x, axes=(-1,))
    centred = op.Sub(x, mean)
    variance = op.ReduceMean(op.Mul(centred, centred), axes=(-1,))
    squares = op.Sub(op.ReduceMean(op.Mul(x, x), axes=(-1,)), op.Mul(mean, mean))
    by_deviations, by_squares = (op.Div(centred, op.Sqrt(op.Add(one, epsilon))) for one in (variance, squares))
    assert not list(rewriter.steps(postorder([by_deviations])))
    assert [step.replacements for step in rewriter.steps(postorder([by_squares]))] == [((by_squares, by_deviations),)]
