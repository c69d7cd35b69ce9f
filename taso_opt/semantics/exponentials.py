"""The ordered real numbers with their exponentials: that of a sum is a product, that of a logarithm what this is of."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import mul

import z3

from taso_opt.semantics.reals import REAL, OrderedReals, mapped
from taso_opt.spec.operator import Array, ScalarFunction
from taso_opt.spec.shared.transcendental import EXP, LOG

ONE = z3.RealVal(1)
EXPONENTIAL = z3.Function(EXP.name, REAL, REAL)
LOGARITHM = z3.Function(LOG.name, REAL, REAL)


class Exponentials(OrderedReals):
    """As OrderedReals, with what is declared of functions in exponentials, and with what is known of exponentials.

    An exponential is a product of powers of a few positive numbers, those of the terms of its argument. `facts` says
    of these what Z3 has to know.
    """

    def __init__(self) -> None:
        self.facts: list[z3.BoolRef] = []
        self._known: dict[z3.ArithRef, z3.ArithRef] = {}

    def apply(self, function: ScalarFunction, x: Array) -> Array:
        """The function in exponentials where these are declared."""
        if function.by_exponentials is not None:
            return function.by_exponentials(self, x)
        return mapped(self._exponential, x) if function is EXP else super().apply(function, x)

    def differ(self, u: z3.ArithRef, v: z3.ArithRef) -> z3.BoolRef:
        """Two sums with logarithms differ if their exponentials do: these have none."""
        return self._exponential(u - v) != 1 if any(map(_is_logarithm, _summed(u - v))) else super().differ(u, v)

    def _exponential(self, x: z3.ArithRef) -> z3.ArithRef:
        factors = (self._power(term, share) for term, share in _summed(x).items() if share)
        return reduce(mul, factors, ONE)

    def _power(self, term: z3.ArithRef, share: Fraction) -> z3.ArithRef:
        """The exponential of a multiple of a term."""
        if share.denominator != 1:
            return self._of_term(term * z3.Q(share.numerator, share.denominator))
        power = reduce(mul, [self._of_term(term)] * abs(share.numerator))
        return power if share > 0 else ONE / power

    def _of_term(self, term: z3.ArithRef) -> z3.ArithRef:
        known = self._known.get(term)
        if known is None:
            known = self._known[term] = self._new(term)
        return known

    def _new(self, term: z3.ArithRef) -> z3.ArithRef:
        if z3.is_app_of(term, z3.Z3_OP_ITE):
            decides, yes, no = term.children()
            return z3.If(decides, self._exponential(yes), self._exponential(no))
        power = EXPONENTIAL(term)
        self.facts += [power > 0, (term > 0) == (power > 1), (term < 0) == (power < 1)]
        if _is_logarithm(term):
            (of,) = term.children()
            return z3.If(of > 0, of, power)
        return power


def _is_logarithm(term: z3.ExprRef) -> bool:
    return bool(term.decl().eq(LOGARITHM))


def _summed(x: z3.ArithRef) -> dict[z3.ArithRef, Fraction]:
    """A sum as so many times each of its terms; a number is so many times 1."""
    found: dict[z3.ArithRef, Fraction] = {}
    _sum(x, Fraction(1), found)
    return found


def _sum(x: z3.ArithRef, share: Fraction, found: dict[z3.ArithRef, Fraction]) -> None:
    kind = x.decl().kind()
    first, *others = x.children() or [x]
    if z3.is_rational_value(x):
        found[ONE] = found.get(ONE, Fraction(0)) + share * x.as_fraction()
    elif kind == z3.Z3_OP_UMINUS:
        _sum(first, -share, found)
    elif kind in (z3.Z3_OP_ADD, z3.Z3_OP_SUB):
        _sum(first, share, found)
        for other in others:
            _sum(other, share if kind == z3.Z3_OP_ADD else -share, found)
    elif kind == z3.Z3_OP_MUL and z3.is_rational_value(first):
        _sum(reduce(mul, others), share * first.as_fraction(), found)
    elif kind == z3.Z3_OP_MUL and len(others) == 1 and z3.is_rational_value(others[0]):
        _sum(first, share * others[0].as_fraction(), found)
    else:
        found[x] = found.get(x, Fraction(0)) + share
