"""What a report says that the places of a plan gain."""

from types import SimpleNamespace

import pytest

from taso_opt.api.reporting.evidence import _Gains
from taso_opt.core.term import Var
from terms import tensor


def costs(**seconds):
    """A model of costs in which each operator is a kernel of its own."""

    def kernels(outputs, boundary, around):
        return [] if outputs[0] in boundary else [outputs[0].operator, *kernels(outputs[0].args, boundary, around)]

    return SimpleNamespace(kernels=kernels, known=seconds.get)


def test_a_gain_is_what_is_saved(op):
    x = tensor(Var, "x", 4)
    gains = _Gains(costs(Exp=0.003, Tanh=0.001), [op.Exp(x)])
    assert gains([op.Exp(x)], [op.Tanh(x)]) == pytest.approx(2.0)
    assert gains([op.Tanh(x)], [op.Exp(x)]) == pytest.approx(-2.0)
    assert gains([op.Tanh(x)], [op.Tanh(op.Exp(x))]) == pytest.approx(-3.0)


def test_what_was_never_measured_has_none(op):
    x = tensor(Var, "x", 4)
    assert _Gains(costs(Exp=0.003), [op.Exp(x)])([op.Exp(x)], [op.Tanh(x)]) is None
    assert _Gains(costs(Exp=0.003, Tanh=float("inf")), [op.Exp(x)])([op.Exp(x)], [op.Tanh(x)]) is None
