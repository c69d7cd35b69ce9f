"""Takes out of a greatest element what does not change which one it is: any map that never falls as its operand rises.

Z3 decides over the ordered reals whether a map is of that kind, for all values of what does not move along: a scale
must not be negative, which a rule says of it. Where every element is padding, which loses every comparison, the two
sides need not agree: who uses this has to know that no window is like that.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import z3

from taso_opt.verify.index_functions.elements import (
    Access,
    Amount,
    Element,
    Factor,
    Greatest,
    Image,
    Lowered,
    Product,
    Reciprocal,
    Sign,
    added,
    lone,
    multiplied,
    names_of,
    only_factor,
)

RESOURCE_LIMIT = 400_000
"""Z3's deterministic unit of work, half a second; a map of a few pieces takes a thousandth of it."""

RECTIFIER = "relu"
"""The only function of which the value is known, not only that it never falls."""


def taken_out(greatest: Greatest) -> Element | None:
    """The same value as a map of the greatest element; None when there is nothing, or nothing fit, to take out."""
    lowered = only_factor(greatest.inner)
    inner = lowered.inner if isinstance(lowered, Lowered) else greatest.inner
    moving = set(_moving(inner, {name for name, _ in greatest.bound}))
    if len(moving) != 1:
        return None
    (atom,) = moving
    if not isinstance(atom, Access) or inner == lone(atom) or not _never_falls(inner, atom):
        return None
    left = lone(Lowered(lowered.margins, lone(atom))) if isinstance(lowered, Lowered) else lone(atom)
    return _with(inner, atom, lone(Greatest(greatest.bound, left)))


def _moving(element: Element, names: set[str]) -> Iterator[Factor | Product]:
    """What changes with the bound indices, looked for inside of maps as well."""
    for one in element.products:
        if one.bound and any(not names.isdisjoint(names_of(factor)) for factor in one.factors):
            yield one
            continue
        for factor in one.factors:
            if isinstance(factor, Image):
                yield from _moving(factor.argument, names)
            elif not names_of(factor).isdisjoint(names):
                yield factor


def _with(element: Element, atom: Access, value: Element) -> Element:
    """The element with another in the place of a factor, inside of maps as well."""
    total = Element(())
    for one in element.products:
        product = Element((Product(one.coefficient, one.bound, ()),))
        for factor in one.factors:
            if factor == atom:
                product = multiplied(product, value)
            elif isinstance(factor, Image):
                inner = _with(factor.argument, atom, value)
                product = multiplied(product, lone(Image(factor.function, inner, factor.monotone)))
            else:
                product = multiplied(product, lone(factor))
        total = added(total, product)
    return total


def _is_positive(factor: Factor | None) -> bool:
    return isinstance(factor, Access) and factor.sign is Sign.POSITIVE


@cache
def _never_falls(element: Element, atom: Access) -> bool:
    """Whether the element is no smaller for a larger value of one of its factors, all others staying as they are."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", RESOURCE_LIMIT)
    reader = _Reader(atom)
    low, high = z3.Reals("low high")
    before, after = reader.value(element, low), reader.value(element, high)
    solver.add(low <= high, before > after, *reader.facts())
    return bool(solver.check() == z3.unsat)


class _Reader:
    """Writes elements as numbers of Z3, with what is known of them."""

    def __init__(self, atom: Access) -> None:
        self._atom = atom
        self._fixed: dict[Factor | Product, z3.ArithRef] = {}
        self._images: list[tuple[str, z3.ArithRef, z3.ArithRef]] = []

    def value(self, element: Element, atom: z3.ArithRef) -> z3.ArithRef:
        """An element where one factor has this value."""
        total = z3.RealVal(0)
        for one in element.products:
            product: z3.ArithRef = z3.Q(one.coefficient.numerator, one.coefficient.denominator)
            if one.bound:
                product *= self._unknown(Product(Fraction(1), one.bound, one.factors))
            else:
                for factor in one.factors:
                    product *= self._factor(factor, atom)
            total += product
        return total

    def facts(self) -> Iterator[z3.BoolRef]:
        """The signs of what does not move, and that functions never fall where that is declared."""
        for factor, number in self._fixed.items():
            match factor:
                case Access(sign=Sign.POSITIVE) | Reciprocal(proper=True) | Amount():
                    yield number > 0
                case Access(sign=Sign.NOT_NEGATIVE):
                    yield number >= 0
                case Reciprocal(inner) if _is_positive(only_factor(inner)):
                    yield number > 0
        for name, argument, image in self._images:
            for other_name, other, other_image in self._images:
                if name == other_name and image is not other_image:
                    yield z3.Implies(argument <= other, image <= other_image)

    def _factor(self, factor: Factor, atom: z3.ArithRef) -> z3.ArithRef:
        if factor == self._atom:
            return atom
        if not isinstance(factor, Image):
            return self._unknown(factor)
        argument = self.value(factor.argument, atom)
        if factor.function == RECTIFIER:
            return z3.If(argument > 0, argument, z3.RealVal(0))
        image = z3.Function(factor.function, z3.RealSort(), z3.RealSort())(argument)
        if factor.monotone:
            self._images.append((factor.function, argument, image))
        return image

    def _unknown(self, factor: Factor | Product) -> z3.ArithRef:
        return self._fixed.setdefault(factor, z3.Real(f"fixed {len(self._fixed)}"))
