"""Functions that exact interpretations know only by name, shared by the operators that are made of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from taso_opt.spec.operator import Array, ArrayModule, ScalarFunction
from taso_opt.spec.piecewise import negated, positive

EXP = ScalarFunction("exp", np.exp, monotone=True)
LOG = ScalarFunction("log", np.log, monotone=True)
SQRT = ScalarFunction("sqrt", np.sqrt, zero_preserving=True, monotone=True)
TANH = ScalarFunction("tanh", np.tanh, zero_preserving=True, monotone=True)


def softplus(xp: ArrayModule, x: Array) -> Array:
    """log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), whose exponential is at most 1."""
    magnitude = xp.add(positive(xp, x), positive(xp, negated(xp, x)))
    tail = xp.apply(LOG, xp.add(xp.apply(EXP, negated(xp, magnitude)), xp.constant(Fraction(1))))
    return xp.add(positive(xp, x), tail)
