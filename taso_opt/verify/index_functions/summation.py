"""Sums over index variables, narrowed to where their guards hold."""

from __future__ import annotations

from collections.abc import Iterator

from taso_opt.core.dims import Dim
from taso_opt.verify.index_functions.elements import Bound, Element, Factor, Guard, Product, factor_at
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import names_in, names_of, split_at


def summed_over(facts: Facts, element: Element, bound: Bound) -> Element:
    """The sum of an element over index variables.

    A sum over 0 <= i < n of what is guarded by first <= i <= last becomes one over the values between, where
    0 <= first <= last < n is proved; so a kernel enlarged by zeros is seen to be the kernel.
    """
    return Element(tuple(form for one in element.products for form in _narrowed(facts, one, bound)))


def _narrowed(facts: Facts, one: Product, bound: Bound) -> Iterator[Product]:
    factors = one.factors
    kept: list[tuple[str, Dim]] = []
    for name, size in bound:
        limits = _limits(facts, factors, name, size)
        if limits is None:
            kept.append((name, size))
            continue
        first, last, used = limits
        variable = facts.fresh(last - first + 1)
        kept += [(new, facts.size_of(new)) for new in names_of(variable)]
        factors = tuple(factor_at(factor, {name: variable + first}) for factor in factors if factor not in used)
    guards = [factor.margin for factor in factors if isinstance(factor, Guard)]
    if not any(facts.surely(-1 * margin - 1) for margin in guards):
        open_factors = tuple(
            factor for factor in factors if not (isinstance(factor, Guard) and facts.surely(factor.margin))
        )
        yield Product(one.coefficient, (*one.bound, *kept), open_factors)


def _limits(facts: Facts, factors: tuple[Factor, ...], name: str, size: Dim) -> tuple[Dim, Dim, list[Guard]] | None:
    """The first and last value that the guards of an index leave, with those guards."""
    lower: list[tuple[Dim, Guard | None]] = []
    upper: list[tuple[Dim, Guard | None]] = []
    for factor in factors:
        if not isinstance(factor, Guard):
            continue
        parts = split_at(factor.margin, name)
        if parts is None or any(facts.is_index(other) for other in names_in(parts[0])):
            continue
        if parts[1] == 1:
            lower.append((-1 * parts[0], factor))
        elif parts[1] == -1:
            upper.append((parts[0], factor))
    for first, begin in lower or [(0, None)]:
        for last, end in upper or [(size - 1, None)]:
            if begin is end:
                continue
            if facts.proves(first) and facts.proves(size - 1 - last) and facts.proves(last - first):
                return first, last, [guard for guard in (begin, end) if guard is not None]
    return None
