"""Slices that cut one tensor into pieces: what rules say of each as a part of a split, said of all in one step.

Rules say of one slice that it is a part of a split into this part, what is before it and what is behind. Where other
slices of the tensor lie, what is before and behind is cut further, so that all are parts of one split. In the same way
each part of a split is a slice, however many others there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, cast

from taso_opt.core.dims import Dim, divide
from taso_opt.core.term import Apply, Attribute, Item, Term
from taso_opt.rewrite.finding.step import Step
from taso_opt.spec.builder import Builder

Rewrites: TypeAlias = Callable[[Term], Sequence[Step]]
Cut: TypeAlias = tuple[Dim, Dim, Dim]
Place: TypeAlias = tuple[int, int, int]


def whole_cuts(terms: Iterable[Term], builder: Builder, rewrites: Rewrites) -> Iterator[Step]:
    """A step for each tensor and axis of which two slices or more do not overlap.

    Their sizes are known, or multiples of one size that only a run knows.
    """
    groups: dict[tuple[Term, Attribute], dict[Apply, Cut]] = {}
    for term in terms:
        if isinstance(term, Apply) and term.operator == "Slice":
            groups.setdefault((term.args[0], term.attribute("axis")), {})[term] = cast(Cut, term.attribute("sizes"))
    for (whole, axis), cuts in groups.items():
        unit = _unit(cuts.values())
        places = {term: place for term, cut in cuts.items() if (place := _place(cut, unit)) is not None}
        sizes = _pieces(sorted(places.values()))
        step = None if sizes is None else _as_part(min(places, key=places.__getitem__), rewrites)
        if sizes is not None and step is not None:
            parts = tuple(unit * size for size in sizes.values())
            split = builder.apply("Split", (whole,), {"axis": axis, "sizes": parts})
            at = list(sizes).index
            yield Step(step.rule, tuple((one, Item(split, at(before))) for one, (before, *_) in places.items()))


def sliced(part: Item, builder: Builder, rewrites: Rewrites) -> Step | None:
    """The step that takes a part of a split for a slice, whatever other parts there are; None if no rule says so."""
    split = part.term
    sizes, axis = cast(tuple[Dim, ...], split.attribute("sizes")), split.attribute("axis")
    cut = sum(sizes[: part.index]), sizes[part.index], sum(sizes[part.index + 1 :])
    new = builder.apply("Slice", split.args, {"axis": axis, "sizes": cut})
    step = _as_part(new, rewrites) if isinstance(new, Apply) else None
    return None if step is None else Step(step.rule, ((part, new),))


def _unit(cuts: Iterable[Cut]) -> Dim:
    """What slices are measured in: 1, or the size of all where it is one that only a run knows."""
    kept = {kept for _, kept, _ in cuts if not isinstance(kept, int)}
    return kept.pop() if len(kept) == 1 else 1


def _place(cut: Cut, unit: Dim) -> Place | None:
    """What a slice has before it, what it keeps and what it has behind it, in units; None where that is no number."""
    match tuple(size and divide(size, unit) for size in cut):
        case (int(before), int(kept), int(behind)):
            return before, kept, behind
    return None


def _pieces(places: Sequence[Place]) -> dict[int, int] | None:
    """The sizes of all pieces, by where they begin, of slices in order; None of a lone one, or where some overlap."""
    found: dict[int, int] = {}
    end = 0
    for before, kept, _ in places:
        if before < end:
            return None
        if before > end:
            found[end] = before - end
        found[before], end = kept, before + kept
    if len(places) < 2:
        return None
    (*_, behind) = places[-1]
    if behind:
        found[end] = behind
    return found


def _as_part(term: Apply, rewrites: Rewrites) -> Step | None:
    """The step that takes a slice for a part of a split of the same tensor."""
    return next((step for step in rewrites(term) if _is_part(step.image, term.args)), None)


def _is_part(term: Term, whole: tuple[Term, ...]) -> bool:
    return isinstance(term, Item) and term.term.operator == "Split" and term.term.args == whole
