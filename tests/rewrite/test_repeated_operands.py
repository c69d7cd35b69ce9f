"""A shape in a pattern may begin with any number of axes, and rules that only add a repetition are not used."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule

LAW = "Mul(Expand(x; shape=(*b, m, n)), y) = Mul(x, y) where x[1, n], y[*b, m, n]"


def variable(name, *shape):
    return Var(name, TensorType("float32", shape))


def results(op, law, term):
    steps = Rewriter(op, RuleSet((parse_rule(law, op),))).rewrites(term)
    return [step.image for step in steps]


@pytest.mark.parametrize("leading", [(), (2,), (2, 7)])
def test_a_shape_is_matched_behind_any_number_of_leading_axes(op, leading):
    x, y = variable("x", 1, 5), variable("y", *leading, 3, 5)
    assert results(op, LAW, op.Mul(op.Expand(x, shape=(*leading, 3, 5)), y)) == [op.Mul(x, y)]


@pytest.mark.parametrize("shape", [(4, 3, 5), (1, 3, 5)])
def test_a_shape_with_other_leading_axes_is_no_match(op, shape):
    x, y = variable("x", 1, 5), variable("y", 3, 5)
    term = op.Mul(op.Expand(x, shape=shape), y)
    assert results(op, LAW, term) == []


def test_a_shape_with_too_few_axes_is_no_match(op):
    x, y = variable("x", 5), variable("y", 3, 5)
    law = "Mul(Expand(x; shape=(*b, m, n)), y) = Mul(x, y) where x[n], y[*b, m, n]"
    assert results(op, law, op.Mul(op.Expand(x, shape=(5,)), y)) == []


def test_nothing_is_repeated_that_is_broadcast_anyway(op):
    x, y = variable("x", 1, 5), variable("y", 3, 5)
    assert results(op, LAW, op.Mul(x, y)) == []


def test_a_rule_that_repeats_something_else_is_used_in_both_directions(op):
    x = variable("x", 2, 4, 5)
    law = "Relu(Resize(x; scales=(s, t))) = Resize(Relu(x); scales=(s, t)) where x[*b, h, w]"
    inner, outer = op.Resize(op.Relu(x), scales=(2, 3)), op.Relu(op.Resize(x, scales=(2, 3)))
    assert results(op, law, outer) == [inner]
    assert results(op, law, inner) == [outer]


def test_another_shape_of_weights_is_no_repetition(op):
    x, w = variable("x", 8, 3, 4), variable("w", 1, 4, 5)
    law = "MatMul(x, w) = MatMul(x, Reshape(w; shape=(k, n))) where x[*b, l, m, k], w[1, k, n]"
    assert results(op, law, op.MatMul(x, w)) == [op.MatMul(x, op.Reshape(w, shape=(4, 5)))]
