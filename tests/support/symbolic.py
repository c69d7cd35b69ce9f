"""The primitives of meanings over Z3 real terms: whole tensors of unknowns, for checking laws on small shapes.

Scalar functions are uninterpreted; of their facts, zero preservation and idempotence are applied as terms are built.
A maximum is an uninterpreted function of the set of its elements. Every element is kept as a polynomial over these,
so that equal functions of the unknowns are equal terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.reals import REAL, mapped
from taso_opt.spec.operator import Array, ScalarFunction

LOWEST = z3.Real("lowest")


class SymbolicArrays(FloatArrays):
    """Object arrays of Z3 terms; NumPy's own operations on objects do the arithmetic."""

    lowest: Any = LOWEST

    def unknowns(self, name: str, shape: Sequence[int]) -> Array:
        """A tensor of different unknowns."""
        result = np.empty(tuple(shape), dtype=object)
        for place in np.ndindex(*result.shape):
            result[place] = z3.Real(f"{name}{list(place)}")
        return result

    def numbers(self, like: Array, name: str, shape: Sequence[int], values: Callable[[], Array]) -> Array:
        """Unknowns."""
        return self.unknowns(name, (1, *shape))

    def scale(self, x: Array, factors: Fraction | Array) -> Array:
        """Multiply by rational constants."""
        numbers = mapped(lambda factor: z3.Q(factor.numerator, factor.denominator), np.asarray(factors, dtype=object))
        result: Array = x * numbers
        return result

    def apply(self, function: ScalarFunction, x: Array) -> Array:
        """Map an uninterpreted function with its declared facts."""
        symbol = z3.Function(function.name, REAL, REAL)

        def image(element: Any) -> Any:
            term = normal(element)
            if function.zero_preserving and z3.is_rational_value(term) and term.as_fraction() == 0:
                return term
            return term if function.idempotent and term.decl().eq(symbol) else symbol(term)

        return mapped(image, x)

    def _einsum(self, subscripts: str, x: Array, y: Array) -> Array:
        result: Array = np.einsum(subscripts, x, y)
        return result

    def maximum(self, x: Array, axes: Sequence[int]) -> Array:
        """The greatest element as a function of the set of elements."""
        moved = np.moveaxis(x, list(axes), list(range(-len(axes), 0)))
        flat = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
        result = np.empty(flat.shape[:-1], dtype=object)
        for place in np.ndindex(*result.shape):
            terms = sorted({str(term): term for term in map(normal, flat[place]) if not term.eq(LOWEST)}.items())
            result[place] = z3.Function(f"max{len(terms)}", *[REAL] * (len(terms) + 1))(*(term for _, term in terms))
        return result


def normal(element: Any) -> Any:
    """An element as a polynomial in sum-of-monomials form."""
    return z3.simplify(element if z3.is_expr(element) else z3.RealVal(element), som=True, sort_sums=True)


def equal(u: Array, v: Array) -> bool:
    """Whether two tensors hold equal polynomials everywhere."""
    return u.shape == v.shape and all(_is_zero(a - b) for a, b in zip(u.ravel(), v.ravel(), strict=True))


def _is_zero(difference: Any) -> bool:
    return bool(normal(difference).eq(z3.RealVal(0)))
