"""The value of one element: a sum of products of elements of the variables, some of them summed over bound indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from itertools import product
from math import gcd
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.dims import Dim, divide, terms_of
from taso_opt.errors import TypeMismatch
from taso_opt.verify.index_functions.indices import names_in, replaced

MAX_TERMS = 1024
"""A product of sums grows exponentially; nothing but a hostile rule comes near this."""

MAX_FACTORS = 128
"""And so does a product of products."""

Bound: TypeAlias = tuple[tuple[str, Dim], ...]
"""Index variables with their number of values; each runs from 0."""


class Sign(Enum):
    """What is known of all elements of a variable."""

    ANY = 0
    NOT_NEGATIVE = 1
    POSITIVE = 2


@dataclass(frozen=True, slots=True)
class Access:
    """The element of a variable at a place, of which the sign may be known."""

    tensor: str
    place: tuple[Dim, ...]
    sign: Sign = field(default=Sign.ANY, repr=False)


@dataclass(frozen=True, slots=True)
class Amount:
    """A size as a number to calculate with."""

    name: str


@dataclass(frozen=True, slots=True)
class Guard:
    """1 where `margin` is not negative, 0 elsewhere."""

    margin: Dim


@dataclass(frozen=True, slots=True)
class Delta:
    """1 where two indices are equal, 0 elsewhere; both run over the same `size` values."""

    first: Dim
    second: Dim
    size: Dim


@dataclass(frozen=True, slots=True)
class Image:
    """The value of a scalar function of which only declared facts are known, as that it is `monotone`."""

    function: str
    argument: Element
    monotone: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lowered:
    """`inner` where no margin is negative; elsewhere the value that loses every comparison."""

    margins: tuple[Dim, ...]
    inner: Element


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest value of `inner` over the bound indices."""

    bound: Bound
    inner: Element


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """One over `inner`; `proper` when that is known not to be zero."""

    inner: Element
    proper: bool


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Known numbers: whole ones over one denominator. Tables of two operators are never equal, whatever is in them."""

    numbers: NDArray[np.object_]
    denominator: int


@dataclass(frozen=True, slots=True)
class Entry:
    """The number at a place of a table."""

    table: Table
    place: tuple[Dim, ...]


Factor: TypeAlias = Access | Amount | Guard | Delta | Image | Lowered | Greatest | Reciprocal | Entry


@dataclass(frozen=True, slots=True)
class Product:
    """`coefficient` times the sum over `bound` of the product of `factors`."""

    coefficient: Fraction
    bound: Bound
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """A sum of products. Every bound variable has a name of its own until `canonical` renames them."""

    products: tuple[Product, ...]


ZERO = Element(())
ONE = Element((Product(Fraction(1), (), ()),))


def lone(factor: Factor) -> Element:
    """The element that is one factor."""
    return Element((Product(Fraction(1), (), (factor,)),))


def amount(size: Dim) -> Element:
    """A size as an element."""
    return Element(
        tuple(Product(Fraction(scale), (), tuple(map(Amount, names))) for names, scale in terms_of(size) if scale)
    )


def only_factor(element: Element) -> Factor | None:
    """The factor when the element is one factor and nothing else."""
    if len(element.products) != 1:
        return None
    (one,) = element.products
    return one.factors[0] if one.coefficient == 1 and not one.bound and len(one.factors) == 1 else None


def added(*summands: Element) -> Element:
    """The sum of elements."""
    return _limited(tuple(one for summand in summands for one in summand.products))


def scaled(element: Element, factor: Fraction) -> Element:
    """A rational multiple of an element."""
    return Element(tuple(Product(one.coefficient * factor, one.bound, one.factors) for one in element.products))


def multiplied(x: Element, y: Element) -> Element:
    """The product of two elements that share no bound variable."""
    taken = {name for one in x.products for name, _ in one.bound}
    assert not any(name in taken for one in y.products for name, _ in one.bound), "expected fresh bound variables"
    if len(x.products) * len(y.products) > MAX_TERMS:
        raise TypeMismatch(f"expected elements of at most {MAX_TERMS} products, found more")
    products = tuple(
        Product(a.coefficient * b.coefficient, a.bound + b.bound, a.factors + b.factors)
        for a, b in product(x.products, y.products)
    )
    if any(len(one.factors) > MAX_FACTORS for one in products):
        raise TypeMismatch(f"expected products of at most {MAX_FACTORS} factors, found more")
    return Element(products)


def summed(element: Element, bound: Bound) -> Element:
    """The sum of an element over index variables."""
    return Element(tuple(Product(one.coefficient, one.bound + bound, one.factors) for one in element.products))


def at(element: Element, mapping: Mapping[str, Dim]) -> Element:
    """The element with index variables replaced by indices; none of them is bound in it."""
    return Element(
        tuple(
            Product(
                one.coefficient,
                tuple((name, replaced(size, mapping)) for name, size in one.bound),
                tuple(factor_at(factor, mapping) for factor in one.factors),
            )
            for one in element.products
        )
    )


def guard_of(margin: Dim) -> Guard:
    """The guard of a margin, without what all its coefficients share: 2 a + 1 >= 2 b is a >= b in whole numbers."""
    shared = gcd(*(coefficient for monomial, coefficient in terms_of(margin) if monomial))
    return Guard(divide(margin, shared) if shared > 1 else margin)


def factor_at(factor: Factor, mapping: Mapping[str, Dim]) -> Factor:
    """As `at`, for one factor."""
    match factor:
        case Access(tensor, place, sign):
            return Access(tensor, _all(place, mapping), sign)
        case Amount():
            return factor
        case Guard(margin):
            return guard_of(replaced(margin, mapping))
        case Delta(first, second, size):
            return Delta(replaced(first, mapping), replaced(second, mapping), size)
        case Image(function, argument, monotone):
            return Image(function, at(argument, mapping), monotone)
        case Lowered(margins, inner):
            return Lowered(_all(margins, mapping), at(inner, mapping))
        case Greatest(bound, inner):
            return Greatest(bound, at(inner, mapping))
        case Reciprocal(inner, proper):
            return Reciprocal(at(inner, mapping), proper)
        case Entry(table, place):
            return Entry(table, _all(place, mapping))


def names_of(factor: Factor) -> set[str]:
    """Every name that a factor mentions, those bound inside it included."""
    match factor:
        case Access(_, place, _) | Entry(_, place):
            return set[str]().union(*map(names_in, place))
        case Amount():
            return set()
        case Guard(margin):
            return set(names_in(margin))
        case Delta(first, second, size):
            return {*names_in(first), *names_in(second), *names_in(size)}
        case Image(_, inner, _) | Reciprocal(inner, _) | Greatest(_, inner):
            return names_in_element(inner)
        case Lowered(margins, inner):
            return names_in_element(inner).union(*map(names_in, margins))


def names_in_element(element: Element) -> set[str]:
    """As `names_of`, of all factors of an element."""
    return set[str]().union(*(names_of(factor) for one in element.products for factor in one.factors))


def _all(indices: Sequence[Dim], mapping: Mapping[str, Dim]) -> tuple[Dim, ...]:
    return tuple(replaced(index, mapping) for index in indices)


def _limited(products: tuple[Product, ...]) -> Element:
    if len(products) > MAX_TERMS:
        raise TypeMismatch(f"expected elements of at most {MAX_TERMS} products, found more")
    return Element(products)
