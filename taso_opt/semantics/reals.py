"""The real numbers as Z3 knows them, with their order: one element at a time, for proofs about scalar functions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from taso_opt.semantics.arrays import FloatArrays
from taso_opt.spec.operator import Array, ScalarFunction

REAL = z3.RealSort()


class OrderedReals(FloatArrays):
    """Object arrays of Z3 terms; the positive part is a case distinction, other functions are uninterpreted."""

    larger = smaller = less = at_most = chosen = clipped = magnitude = None  # type: ignore[assignment] # by cases, as the meanings say
    facts: Sequence[z3.BoolRef] = ()
    """What is known of the functions."""

    def unknown(self, name: str) -> Array:
        """One unknown number, behind the sample axis."""
        return np.array([z3.Real(name)], dtype=object)

    def constant(self, value: Fraction) -> Array:
        """A rational number, behind the sample axis."""
        return np.array([z3.Q(value.numerator, value.denominator)], dtype=object)

    def divide(self, x: Array, y: Array) -> Array:
        """A product with the reciprocal, that of 0 being some number: 0/0 is told by the class of a rule."""
        return self.multiply(x, mapped(lambda element: z3.RealVal(1) / element, y))

    def scale(self, x: Array, factors: Fraction | Array) -> Array:
        """Multiply by a rational number."""
        assert isinstance(factors, Fraction), "scalar meanings scale by one number"
        result: Array = x * z3.Q(factors.numerator, factors.denominator)
        return result

    def apply(self, function: ScalarFunction, x: Array) -> Array:
        """max(x, 0) and whether x is positive by cases; any other function by its name."""
        if function.positive_part:
            return mapped(lambda element: z3.If(element > 0, element, z3.RealVal(0)), x)
        if function.positive:
            return mapped(lambda element: z3.If(element > 0, z3.RealVal(1), z3.RealVal(0)), x)
        return mapped(z3.Function(function.name, REAL, REAL), x)

    def differ(self, u: z3.ArithRef, v: z3.ArithRef) -> z3.BoolRef:
        """Whether two elements are unequal."""
        return u != v


def mapped(image: Any, x: Array) -> Array:
    """The image of each element."""
    result = np.empty(x.shape, dtype=object)
    for place in np.ndindex(*x.shape):
        result[place] = image(x[place])
    return result
