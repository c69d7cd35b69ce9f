"""Indices of elements: polynomials over sizes and index variables, with quotients and lookups that are looked into."""

from __future__ import annotations

from collections.abc import Mapping

from taso_opt.core.dims import Dim, Monomial, Size, divide, polynomial, substitute, symbol, terms_of
from taso_opt.core.quotients import QUOTIENT, quotient
from taso_opt.verify.lookups import lookup, place_of
from taso_opt.verify.sizes import plain_symbols


def replaced(index: Dim, mapping: Mapping[str, Dim]) -> Dim:
    """The index with names replaced, those inside quotients and lookups included."""
    if isinstance(index, int) or not mapping:
        return index

    def replacement(name: str) -> Dim | None:
        told = lookup(name)
        if told is not None:
            return place_of(told.moved(lambda inner: replaced(inner, mapping)))
        if not name.startswith(QUOTIENT):
            return mapping.get(name)
        dividend, divisor = quotient(name)
        if not any(part in mapping for part in plain_symbols(symbol(name))):
            return None
        return divide(replaced(dividend, mapping), replaced(divisor, mapping))

    return substitute(index, replacement)


def names_in(index: Dim) -> frozenset[str]:
    """Every plain name that occurs, those inside quotients and lookups included."""
    return frozenset(plain_symbols(index))


def names_of(index: Dim) -> tuple[str, ...]:
    """The names that the monomials consist of; a quotient is one of them, and so is a lookup."""
    return index.symbols() if isinstance(index, Size) else ()


def split_at(index: Dim, name: str) -> tuple[Dim, Dim] | None:
    """`rest, factor` with index = rest + name * factor; None when the name occurs in a higher power."""
    rest, factor = [], []
    for monomial, coefficient in terms_of(index):
        if name not in monomial:
            rest.append((monomial, coefficient))
            continue
        others = tuple(part for part in monomial if part != name)
        if len(others) < len(monomial) - 1:
            return None
        factor.append((others, coefficient))
    return polynomial(rest), polynomial(factor)


def divided(index: Dim, divisor: Dim) -> tuple[Dim, Dim] | None:
    """`quotient, rest` with index = divisor * quotient + rest for a divisor of one term; None for another divisor."""
    ((divisor_names, scale), *others) = terms_of(divisor)
    if others or scale < 1:
        return None
    quotient_, rest = [], []
    for monomial, coefficient in terms_of(index):
        left = _without(monomial, divisor_names)
        if left is not None and coefficient % scale == 0:
            quotient_.append((left, coefficient // scale))
        else:
            rest.append((monomial, coefficient))
    return polynomial(quotient_), polynomial(rest)


def _without(monomial: Monomial, names: Monomial) -> Monomial | None:
    left = list(monomial)
    for name in names:
        if name not in left:
            return None
        left.remove(name)
    return tuple(left)
