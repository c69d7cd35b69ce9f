"""The canonical form of elements: equal up to the names of bound indices and the order of sums and products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count, permutations, product

from taso_opt.core.dims import Dim, Size, symbol
from taso_opt.verify.index_functions.elements import (
    Bound,
    Delta,
    Element,
    Factor,
    Greatest,
    Guard,
    Image,
    Lowered,
    Product,
    Reciprocal,
    added,
    amount,
    at,
    factor_at,
    lone,
    multiplied,
    names_in_element,
    names_of,
    only_factor,
    summed,
)
from taso_opt.verify.index_functions.greatest import taken_out
from taso_opt.verify.index_functions.indices import names_in
from taso_opt.verify.index_functions.tables import without_tables

MAX_ORDERS = 48
"""Orders of bound indices that are tried where their roles do not tell them apart; more only cost completeness."""


def canonical(element: Element) -> Element:
    """The same value with like products merged, bound indices renamed by their roles and everything sorted."""
    totals: dict[tuple[Bound, tuple[Factor, ...]], Fraction] = {}
    for one in (part for whole in element.products for part in without_tables(whole)):
        for form in _canonical_products(one):
            key = form.bound, form.factors
            totals[key] = totals.get(key, Fraction(0)) + form.coefficient
    kept = [Product(total, *key) for key, total in totals.items() if total]
    return Element(tuple(sorted(kept, key=repr)))


def _canonical_products(one: Product) -> Iterator[Product]:
    bound, factors = _without_deltas(one.bound, list(one.factors))
    factors = _without_repeated_guards([_canonical_factor(factor) for factor in factors])
    for place, factor in enumerate(factors):
        taken = taken_out(factor) if isinstance(factor, Greatest) else None
        if taken is not None:
            others = Product(one.coefficient, bound, (*factors[:place], *factors[place + 1 :]))
            for product in multiplied(Element((others,)), apart(taken, others)).products:
                yield from _canonical_products(product)
            return
    bound, factors = _without_counts(bound, factors)
    used = set[str]().union(*map(names_of, factors))
    repeated = multiplied(Element((Product(one.coefficient, (), tuple(factors)),)), _sizes_of(bound, used))
    for form in repeated.products:
        kept = tuple((name, size) for name, size in bound if name in used)
        yield Product(form.coefficient, *_labelled(kept, _without_amounts(list(form.factors))))


def apart(element: Element, others: Product) -> Element:
    """The element with names for its bound indices that nothing in a product that it is multiplied with has.

    What is canonical calls them by their height alone, so that they may stand inside a factor of the other as well.
    """
    used = {name for name, _ in others.bound}.union(*map(names_of, others.factors), names_in_element(element))
    fresh = (name for name in (f"~0.{number}" for number in count()) if name not in used)
    apart = []
    for one in element.products:
        names = {name: next(fresh) for name, _ in one.bound}
        inner = at(
            Element((Product(one.coefficient, (), one.factors),)), {old: symbol(new) for old, new in names.items()}
        )
        apart.append(summed(inner, tuple((names[name], size) for name, size in one.bound)))
    return added(*apart)


def _sizes_of(bound: Bound, used: set[str]) -> Element:
    """A sum over an index that nothing depends on is a multiple."""
    total: Dim = 1
    for name, size in bound:
        total = total if name in used else size * total
    return amount(total)


def _canonical_factor(factor: Factor) -> Factor:
    match factor:
        case Image(function, argument, monotone):
            return Image(function, canonical(argument), monotone)
        case Lowered(margins, inner):
            return _canonical_lowered(margins, canonical(inner))
        case Greatest(bound, inner):
            return _canonical_greatest(bound, canonical(inner))
        case Reciprocal(inner, proper):
            return Reciprocal(canonical(inner), proper)
    return factor


def _canonical_lowered(margins: tuple[Dim, ...], inner: Element) -> Factor:
    """What is padding twice is padding, and the greatest of what is padding alike is padding as each of it is."""
    match only_factor(inner):
        case Lowered(more, innermost):
            return _canonical_lowered(margins + more, innermost)
        case Greatest(bound, elements):
            return _canonical_greatest(bound, canonical(lone(Lowered(margins, elements))))
    return Lowered(tuple(sorted(set(margins), key=str)), inner)


def _canonical_greatest(bound: Bound, inner: Element) -> Greatest:
    """The greatest of several that are the greatest of others is the greatest of all."""
    nested = only_factor(inner)
    if isinstance(nested, Greatest):
        return _canonical_greatest(bound + nested.bound, nested.inner)
    holder = Image("", inner)
    used = names_of(holder)
    bound, (renamed,) = _labelled(tuple((name, size) for name, size in bound if name in used), [holder])
    assert isinstance(renamed, Image)
    return Greatest(bound, renamed.argument)


def _without_repeated_guards(factors: Sequence[Factor]) -> list[Factor]:
    guards = dict.fromkeys(factor for factor in factors if isinstance(factor, Guard))
    return [*guards, *(factor for factor in factors if not isinstance(factor, Guard))]


def _without_deltas(bound: Bound, factors: list[Factor]) -> tuple[Bound, list[Factor]]:
    """Take a sum over an index that a delta holds to another one: what is left is its value there."""
    sizes = dict(bound)
    for delta in factors:
        if not isinstance(delta, Delta):
            continue
        others = [factor for factor in factors if factor is not delta]
        if delta.first == delta.second:
            return _without_deltas(bound, others)
        for index, value in ((delta.first, delta.second), (delta.second, delta.first)):
            name = index.symbol if isinstance(index, Size) else None
            if name is not None and sizes.get(name) == delta.size and name not in names_in(value):
                left = [factor_at(factor, {name: value}) for factor in others]
                return _without_deltas(tuple(pair for pair in bound if pair[0] != name), left)
    return bound, factors


def _without_counts(bound: Bound, factors: list[Factor]) -> tuple[Bound, list[Factor]]:
    """Cancel a reciprocal against an index that only guards depend on, summed: the number of its values."""
    for factor in factors:
        if not (isinstance(factor, Reciprocal) and factor.proper):
            continue
        for name, size in bound:
            about = [one for one in factors if name in names_of(one)]
            if not about or not all(isinstance(one, Guard) for one in about):
                continue
            if canonical(Element((Product(Fraction(1), ((name, size),), tuple(about)),))) == factor.inner:
                left = list(factors)
                for one in (factor, *about):
                    left.remove(one)
                return _without_counts(tuple(pair for pair in bound if pair[0] != name), left)
    return bound, factors


def _without_amounts(factors: list[Factor]) -> list[Factor]:
    """Cancel reciprocals of sizes against sizes."""
    for factor in factors:
        if isinstance(factor, Reciprocal) and factor.proper and len(factor.inner.products) == 1:
            (inner,) = factor.inner.products
            if inner.coefficient == 1 and not inner.bound and not Counter(inner.factors) - Counter(factors):
                left = list(factors)
                for one in (factor, *inner.factors):
                    left.remove(one)
                return _without_amounts(left)
    return factors


def _labelled(bound: Bound, factors: Sequence[Factor]) -> tuple[Bound, tuple[Factor, ...]]:
    """Rename bound indices by their roles; where roles are alike, the order with the first text wins."""
    height = 1 + max(map(_height, factors), default=0)
    sizes = dict(bound)
    best: tuple[str, Bound, tuple[Factor, ...]] | None = None
    for order in _orders(_roles(bound, factors)):
        mapping = {name: f"~{height}.{place}" for place, name in enumerate(order)}
        renamed = sorted((_renamed(factor, mapping) for factor in factors), key=repr)
        text = repr(renamed)
        if best is None or text < best[0]:
            best = text, tuple((mapping[name], sizes[name]) for name in order), tuple(renamed)
    assert best is not None
    return best[1:]


def _roles(bound: Bound, factors: Sequence[Factor]) -> dict[str, str]:
    """What each bound index does, told without its name, refined until it tells no more of them apart."""
    roles = {name: str(size) for name, size in bound}
    for _ in bound:
        ranks = {role: rank for rank, role in enumerate(sorted(set(roles.values())))}
        if len(ranks) == len(roles):
            break
        others = {name: f"_{ranks[role]}" for name, role in roles.items()}
        roles = {name: role + _seen_from(name, others, factors) for name, role in roles.items()}
    return roles


def _seen_from(name: str, others: Mapping[str, str], factors: Sequence[Factor]) -> str:
    marked = {**others, name: "_self"}
    return repr(sorted(repr(_renamed(factor, marked)) for factor in factors if name in names_of(factor)))


def _orders(roles: Mapping[str, str]) -> list[tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for name, role in roles.items():
        groups.setdefault(role, []).append(name)
    orders: list[tuple[str, ...]] = []
    for choice in product(*(permutations(groups[role]) for role in sorted(groups))):
        orders.append(tuple(name for group in choice for name in group))
        if len(orders) == MAX_ORDERS:
            break
    return orders


def _renamed(factor: Factor, names: Mapping[str, str]) -> Factor:
    if not names_of(factor) & names.keys():
        return factor
    return _canonical_factor(factor_at(factor, {old: symbol(new) for old, new in names.items()}))


def _height(factor: Factor) -> int:
    """How many binders are nested in a factor."""
    match factor:
        case Image(_, inner, _) | Reciprocal(inner, _) | Lowered(_, inner):
            return _element_height(inner)
        case Greatest(_, inner):
            return 1 + _element_height(inner)
    return 0


def _element_height(element: Element) -> int:
    heights = [bool(one.bound) + max(map(_height, one.factors), default=0) for one in element.products]
    return max(heights, default=0)
