"""How many zeros stand beside a tensor is chosen where a rule is used; any other open size makes it no such rule."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.patterns.margins import puts_zeros_beside
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule

OUTPUTS = "x = Slice(Pad(x; pads=(p, 0, 0, 0, q, 0, 0, 0)); axis=-4, sizes=(p, n, q)) where x[*b, n, c, h, w]"
CHANNELS = "x = Slice(Pad(x; pads=(p, 0, 0, q, 0, 0)); axis=-3, sizes=(p, n, q)) where x[*b, n, h, w]"
BIAS = "x = Slice(Pad(x; pads=(p, q)); axis=-1, sizes=(p, n, q)) where x[n]"
OTHERS = (
    "x = Pad(x; pads=(0, 0, 0, 0)) where x[*b, m, k]",
    "x = Slice(x; axis=-3, sizes=(0, n, 0)) where x[*b, n, c, h]",
    "x = Slice(Pad(x; pads=(0, p)); axis=-1, sizes=(0, n, p)) where x[n]",
    "Relu(x) = Slice(Pad(Relu(x); pads=(p, q)); axis=-1, sizes=(p, n, q)) where x[n]",
    "Pad(x; pads=(0, 1, 0, q)) = Slice(Pad(x; pads=(0, p+1, 0, q)); axis=-1, sizes=(p, n+1+q, 0)) where x[m, n]",
)


def rewriter(op, *texts):
    return Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in texts)))


@pytest.mark.parametrize("turned", [False, True])
def test_a_tensor_is_a_slice_of_itself_with_as_many_zeros_as_asked_for(op, turned):
    rules = [parse_rule(text, op) for text in (OUTPUTS, CHANNELS, BIAS)]
    found = Rewriter(op, RuleSet(tuple(rule.reversed() if turned else rule for rule in rules)))
    kernel, bias = (Const(name, TensorType("float32", shape)) for name, shape in (("w", (6, 3, 1, 1)), ("b", (6,))))
    steps = found.with_zeros(kernel, -4, 10), found.with_zeros(kernel, -3, 5), found.with_zeros(bias, -1, 2)
    assert [step.replacements for step in steps] == [
        ((kernel, op.Slice(op.Pad(kernel, pads=(0, 0, 0, 0, 10, 0, 0, 0)), axis=-4, sizes=(0, 6, 10))),),
        ((kernel, op.Slice(op.Pad(kernel, pads=(0, 0, 0, 5, 0, 0)), axis=-3, sizes=(0, 3, 5))),),
        ((bias, op.Slice(op.Pad(bias, pads=(0, 2)), axis=-1, sizes=(0, 6, 2))),),
    ]
    assert {step.rule.rule for step in steps} <= {one for rule in rules for one in (rule, rule.reversed())}


def test_no_step_where_no_rule_is_about_the_axis_or_the_shape(op):
    found = rewriter(op, OUTPUTS, BIAS)
    assert found.with_zeros(Const("w", TensorType("float32", (6, 3, 1, 1))), -3, 2) is None
    assert found.with_zeros(Const("w", TensorType("float32", (6, 3))), -1, 2) is None
    assert rewriter(op).with_zeros(Const("b", TensorType("float32", (6,))), -1, 2) is None


def test_such_rules_do_not_fit_a_term_by_themselves(op):
    found = rewriter(op, OUTPUTS, CHANNELS, BIAS)
    x = Var("x", TensorType("float32", (1, 6, 4, 4)))
    assert found.rewrites(op.Relu(x)) == ()
    cut = op.Slice(op.Pad(x, pads=(0, 0, 0, 2, 0, 0)), axis=-3, sizes=(0, 6, 2))
    assert [step.replacements for step in found.rewrites(cut)] == [((cut, x),)]


@pytest.mark.parametrize("text", OTHERS)
def test_other_rules_do_not_put_zeros_beside_a_tensor(op, text):
    rule = parse_rule(text, op)
    assert not any(map(puts_zeros_beside, (rule, rule.reversed())))
