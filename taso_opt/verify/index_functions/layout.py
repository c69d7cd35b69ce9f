"""How an axis is best walked through: in segments, each of them a product of sizes in row-major order.

A layout is a hint. What it says is exact arithmetic on sizes; where it is coarser than it could be, a proof may fail,
but none is wrong. A segment that ends with a negative number lacks so many positions at its end, fewer than a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from taso_opt.core.dims import Dim, polynomial, terms_of
from taso_opt.core.dims import product as size_of
from taso_opt.verify.index_functions.elements import Bound
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import names_of

Segment: TypeAlias = tuple[Dim, ...]
Layout: TypeAlias = tuple[Segment, ...]

MAX_COPIES = 16
"""A literal number of groups up to this is written out as so many segments."""


def plain(size: Dim) -> Layout:
    """One segment without structure."""
    return ((size,),)


def length(layout: Layout) -> Dim:
    """The size of the axis."""
    total: Dim = 0
    for segment in layout:
        total = _length(segment) + total
    return total


def _length(segment: Segment) -> Dim:
    return size_of(segment[:-1]) + segment[-1] if _is_cut(segment) else size_of(segment)


def _is_cut(segment: Segment) -> bool:
    return isinstance(segment[-1], int) and segment[-1] < 0


def joined(layouts: Sequence[Layout]) -> Layout:
    """One axis after the other."""
    return tuple(segment for layout in layouts for segment in layout if segment != (0,))


def crossed(layouts: Sequence[Layout]) -> Layout:
    """Several axes merged into one, the first varying slowest."""
    kept = [layout for layout in layouts if layout != plain(1)] or [plain(1)]
    if any(len(layout) > 1 for layout in kept[1:]) or any(_is_cut(segment) for layout in kept for segment in layout):
        return plain(size_of(tuple(length(layout) for layout in kept)))
    rest = tuple(factor for layout in kept[1:] for factor in layout[0])
    return joined([_written_out((*segment, *rest)) for segment in kept[0]])


def _written_out(segment: Segment) -> Layout:
    first, rest = segment[0], segment[1:]
    if isinstance(first, int) and rest and 1 <= first <= MAX_COPIES:
        return joined([_written_out(rest)] * first)
    return (segment,)


def between(layout: Layout, start: Dim, stop: Dim) -> Layout:
    """The part of an axis from one position to another."""
    position: Dim = 0
    found: list[Segment] = []
    inside = start == 0
    for segment in layout:
        if inside and position != stop:
            found.append(segment)
        position = _length(segment) + position
        inside = inside or position == start
        if position == stop and inside:
            return tuple(found)
    cut = _without_last(layout, length(layout) - stop) if start == 0 else None
    return plain(stop - start) if cut is None else cut


def _without_last(layout: Layout, count: Dim) -> Layout | None:
    """The axis without so many positions at its end, fewer than a row of its last segment has; None for others."""
    *others, last = layout
    if len(last) != 2 or not (isinstance(last[1], int) and isinstance(count, int) and 0 < count < last[1]):
        return None
    return (*others, (*last, -count))


def merged(left: Layout, right: Layout) -> Layout:
    """A layout at least as fine as both where one is found; any of them is sound."""
    if left == right or right == plain(length(left)):
        return left
    if left == plain(length(right)):
        return right
    found: list[Segment] = []
    a, b = list(left), list(right)
    while a and b:
        first, second = a.pop(0), b.pop(0)
        one, other = _length(first), _length(second)
        if one == other:
            found.append(first if len(first) >= len(second) else second)
        elif len(second) == 1 and _is_positive(other - one):
            found.append(first)
            b.insert(0, (other - one,))
        elif len(first) == 1 and _is_positive(one - other):
            found.append(second)
            a.insert(0, (one - other,))
        else:
            return left
    return left if a or b else tuple(found)


def cut_by_terms(layout: Layout, known: Mapping[Dim, Layout]) -> Layout:
    """Segments of size n+p, or 2*m, as n and p, or m and m: how a sum over them is written on both sides alike.

    The terms of a size have no order: an axis of a size that is `known` is cut as that one is.
    """
    refined = [
        part for segment in layout for part in (known.get(segment[0], (segment,)) if len(segment) == 1 else (segment,))
    ]
    return tuple(part for segment in refined for part in (_terms(segment[0]) if len(segment) == 1 else (segment,)))


def _terms(size: Dim) -> Layout:
    terms = terms_of(size)
    if any(not names or not 1 <= count <= MAX_COPIES for names, count in terms):
        return plain(size)
    return tuple((polynomial(((names, 1),)),) for names, count in terms for _ in range(count))


def _is_positive(size: Dim) -> bool:
    return size > 0 if isinstance(size, int) else all(coefficient > 0 for _, coefficient in size.terms)


def positions(facts: Facts, layout: Layout) -> Iterator[tuple[Dim, Bound]]:
    """Every position of an axis: an index with its variables for each segment and each value of literal factors."""
    offset: Dim = 0
    for segment in layout:
        found = _cut_positions(facts, segment) if _is_cut(segment) else _positions(facts, segment)
        yield from ((index + offset, bound) for index, bound in found)
        offset = _length(segment) + offset


def _cut_positions(facts: Facts, segment: Segment) -> Iterator[tuple[Dim, Bound]]:
    """The positions of rows of which the last one is shorter, column by column."""
    rows, width, missing = segment
    assert isinstance(width, int) and isinstance(missing, int) and 0 < -missing < width, "a part of a row is missing"
    for column in range(width):
        height = rows if column < width + missing else rows - 1
        row = facts.fresh(height)
        yield row * width + column, tuple((name, height) for name in names_of(row))


def _positions(facts: Facts, segment: Segment) -> Iterator[tuple[Dim, Bound]]:
    factors = segment if len(segment) == 1 else tuple(part for factor in segment for part in _apart(factor))
    ranges = [_values(factor) if len(factors) > 1 else None for factor in factors]
    for values in product(*([None] if known is None else known for known in ranges)):
        index: Dim = 0
        bound: list[tuple[str, Dim]] = []
        for place, (factor, value) in enumerate(zip(factors, values, strict=True)):
            variable = facts.fresh(factor) if value is None else value
            index = variable * size_of(factors[place + 1 :]) + index
            bound += [(name, factor) for name in names_of(variable)] if value is None else []
        yield index, tuple(bound)


def _apart(factor: Dim) -> Segment:
    """A factor 2*g as g and 2: pairs of something are walked through pair by pair."""
    terms = terms_of(factor)
    if len(terms) == 1 and terms[0][0] and 1 < terms[0][1] <= MAX_COPIES:
        return polynomial(((terms[0][0], 1),)), terms[0][1]
    return (factor,)


def _values(factor: Dim) -> range | None:
    """The values of an index below a literal number that is small enough to write them out."""
    return range(factor) if isinstance(factor, int) and factor <= MAX_COPIES else None


def places(facts: Facts, layouts: Sequence[Layout]) -> Iterator[tuple[tuple[Dim, ...], Bound]]:
    """Every place of a tensor, one for each choice of segments."""
    for choice in product(*(list(positions(facts, layout)) for layout in layouts)):
        yield tuple(index for index, _ in choice), tuple(pair for _, bound in choice for pair in bound)
