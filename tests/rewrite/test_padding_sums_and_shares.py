"""The library's rules about padding, sums and shares fit what models have, and give what they should."""

import pytest

from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules

WINDOWS = {"strides": (2, 2), "dilations": (1, 2), "group": 2}
OP = load_specs().builder()


def tensor(name, *shape):
    return Var(name, TensorType("float32", shape))


X, Y = tensor("x", 1, 4, 9, 8), tensor("y", 1, 5, 6)
F, A, W = tensor("f", 6, 2, 3, 2), tensor("a", 6), tensor("w", 6, 7)
POWERS = OP.Exp(OP.Sub(Y, OP.ReduceMax(Y, axes=(-1,))))
TOTAL = OP.ReduceSum(POWERS, axes=(-1,))
POOL = {"kernel": (3, 3), "strides": (2, 2)}


@pytest.fixture(scope="module")
def rewriter():
    return Rewriter(OP, read_rules(None, OP))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            OP.Conv(OP.Pad(X, pads=(1, 0, 2, 1)), F, A, **WINDOWS, pads=(0, 1, 0, 0)),
            OP.Conv(X, F, A, **WINDOWS, pads=(1, 1, 2, 1)),
        ),
        (
            OP.Conv(OP.Pad(X, pads=(1, 0, 2, 1)), F, **WINDOWS, pads=(0,) * 4),
            OP.Conv(X, F, **WINDOWS, pads=(1, 0, 2, 1)),
        ),
        (
            OP.AveragePool(OP.Pad(X, pads=(1, 0, 2, 1)), **POOL, pads=(0,) * 4, count_include_pad=0),
            OP.AveragePool(X, **POOL, pads=(1, 0, 2, 1), count_include_pad=1),
        ),
        (OP.Pad(OP.Pad(X, pads=(1, 0, 2, 1)), pads=(0, 0, 3, 1)), OP.Pad(X, pads=(1, 0, 5, 2))),
        (OP.Pad(X, pads=(0, 0, 0, 0)), X),
        (OP.Slice(OP.Pad(X, pads=(0, 2, 0, 3)), axis=-1, sizes=(2, 8, 3)), X),
        (
            OP.Slice(OP.Pad(X, pads=(1, 2, 0, 3)), axis=-1, sizes=(1, 10, 2)),
            OP.Pad(X, pads=(1, 1, 0, 1)),
        ),
        (OP.Relu(OP.Pad(X, pads=(1, 0, 2, 1))), OP.Pad(OP.Relu(X), pads=(1, 0, 2, 1))),
        (OP.ReduceSum(OP.MatMul(Y, W), axes=(-2,)), OP.MatMul(OP.ReduceSum(Y, axes=(-2,)), W)),
        (OP.ReduceSum(OP.MatMul(Y, W), axes=(-1,)), OP.MatMul(Y, OP.ReduceSum(W, axes=(-1,)))),
        (OP.Div(POWERS, TOTAL), OP.Softmax(Y, axis=-1)),
        (OP.Mul(OP.Reciprocal(TOTAL), POWERS), OP.Softmax(Y, axis=-1)),
        (
            OP.Slice(OP.Softmax(Y, axis=-1), axis=-2, sizes=(0, 1, 4)),
            OP.Softmax(OP.Slice(Y, axis=-2, sizes=(0, 1, 4)), axis=-1),
        ),
    ],
)
def test_one_rule_leads_from_one_to_the_other(rewriter, before, after):
    found = [step.image for step in rewriter.rewrites(before)]
    assert after in found


def test_pads_that_a_pool_would_not_count_stay_around_it(rewriter):
    whole = OP.AveragePool(OP.Pad(X, pads=(1, 0, 2, 1)), **POOL, pads=(1, 1, 1, 1), count_include_pad=0)
    found = [step.image for step in rewriter.rewrites(whole)]
    assert not [term for term in found if term.operator == "AveragePool" and term.args == (X,)]


def test_pads_as_wide_as_a_window_stay_around_a_pool(rewriter):
    wide = OP.AveragePool(OP.Pad(X, pads=(3, 0, 3, 0)), **POOL, pads=(0,) * 4, count_include_pad=0)
    found = [step.image for step in rewriter.rewrites(wide)]
    assert not [term for term in found if term.operator == "AveragePool" and term.args == (X,)]
