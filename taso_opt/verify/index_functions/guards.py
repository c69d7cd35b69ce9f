"""Drops guards that say nothing: where one margin is never below another, only the lower one can say anything."""

from __future__ import annotations

from dataclasses import replace

from taso_opt.core.dims import Dim
from taso_opt.verify.index_functions.elements import Element, Factor, Guard
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import names_in

SUMMED = "~"
"""How the names of bound variables begin in canonical elements."""


def lean(facts: Facts, element: Element) -> Element:
    """The same element without guards that are 1 anyway, or wherever another guard of their product is 1."""
    products = (replace(one, factors=_without_implied(facts, one.factors)) for one in element.products)
    return Element(tuple(products))


def _without_implied(facts: Facts, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
    kept = list(factors)
    for guard in [factor for factor in factors if isinstance(factor, Guard)]:
        others = [one for one in kept if isinstance(one, Guard) and one is not guard]
        if _is_certain(facts, guard.margin) or any(_is_implied(facts, guard.margin - other.margin) for other in others):
            kept = [one for one in kept if one is not guard]
    return tuple(kept)


def _is_certain(facts: Facts, margin: Dim) -> bool:
    return not _is_summed(margin) and facts.surely(margin)


def _is_implied(facts: Facts, margin: Dim) -> bool:
    """Whether a difference of margins is never negative."""
    return not _is_summed(margin) and facts.proves(margin)


def _is_summed(margin: Dim) -> bool:
    """Whether a margin depends on a variable of a sum, of which no facts are known here."""
    return any(name.startswith(SUMMED) for name in names_in(margin))
