"""Functions that exact interpretations know only by name, shared by the operators that are made of them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np

from taso_opt.core.dims import Dim
from taso_opt.spec.operator import Array, ArrayModule, ScalarFunction
from taso_opt.spec.shared.piecewise import negated, positive

ERF = ScalarFunction("erf", np.vectorize(math.erf, otypes=[float]), zero_preserving=True, monotone=True)
EXP = ScalarFunction("exp", np.exp, monotone=True)
LOG = ScalarFunction("log", np.log, monotone=True)
SQRT = ScalarFunction("sqrt", np.sqrt, zero_preserving=True, one_preserving=True, monotone=True)


def logistic(xp: ArrayModule, x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    one = xp.constant(Fraction(1))
    return xp.divide(one, xp.add(xp.apply(EXP, negated(xp, x)), one))


def hyperbolic_tangent(xp: ArrayModule, x: Array) -> Array:
    """(exp(2 x) - 1) / (exp(2 x) + 1)."""
    one, squared = xp.constant(Fraction(1)), xp.apply(EXP, xp.scale(x, Fraction(2)))
    return xp.divide(xp.subtract(squared, one), xp.add(squared, one))


SIGMOID = ScalarFunction("sigmoid", lambda x: 0.5 * (1 + np.tanh(0.5 * x)), monotone=True, by_exponentials=logistic)
TANH = ScalarFunction("tanh", np.tanh, zero_preserving=True, monotone=True, by_exponentials=hyperbolic_tangent)

ROOTS = 4
"""Powers whose exponent is a multiple of one over this are square roots of square roots and products."""

LARGEST_POWER = 8


def power(xp: ArrayModule, x: Array, exponent: tuple[Dim, Dim]) -> Array:
    """X to a rational power: products and square roots where these make it, else a function known by name alone."""
    numerator, denominator = exponent
    if not (isinstance(numerator, int) and isinstance(denominator, int)):
        return xp.apply(ScalarFunction(f"power {numerator}/{denominator}", np.positive), x)
    share = Fraction(numerator, denominator)
    if ROOTS % share.denominator or abs(share) > LARGEST_POWER:
        return xp.apply(ScalarFunction(f"power {share}", lambda base: np.power(base, float(share))), x)
    if share < 0:
        return xp.divide(xp.constant(Fraction(1)), power(xp, x, (-numerator, denominator)))
    # The binary digits of the exponent before and behind the point: x^(3/4) = sqrt(x) sqrt(sqrt(x)).
    whole, rest = divmod(share, 1)
    factors, root = [x] * int(whole), x
    while rest:
        root, digit = xp.apply(SQRT, root), int(2 * rest)
        factors, rest = factors + [root] * digit, 2 * rest - digit
    return reduce(xp.multiply, factors) if factors else xp.constant(Fraction(1))


def softplus(xp: ArrayModule, x: Array) -> Array:
    """log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), whose exponential is at most 1."""
    magnitude = xp.add(positive(xp, x), positive(xp, negated(xp, x)))
    tail = xp.apply(LOG, xp.add(xp.apply(EXP, negated(xp, magnitude)), xp.constant(Fraction(1))))
    return xp.add(positive(xp, x), tail)


def elu(xp: ArrayModule, x: Array, alpha: Fraction) -> Array:
    """X above zero, alpha (exp(x) - 1) below, where no exponential is above 1."""
    below = negated(xp, positive(xp, negated(xp, x)))
    tail = xp.subtract(xp.apply(EXP, below), xp.constant(Fraction(1)))
    return xp.add(positive(xp, x), xp.scale(tail, alpha))
