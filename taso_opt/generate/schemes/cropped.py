"""Candidates about zeros around rows and columns of which some are left out again, by a slice or by strides.

Networks shift an image by a row and a column so: zeros behind it, and a slice without the first. What is left of zeros
may be fewer, or none; and of windows of one pixel at every second place none begins at a last row that makes rows even.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from taso_opt.core.dims import Dim, symbol, total
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.cuts import Cut, G
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.generate.schemes.slices import SLICE
from taso_opt.generate.schemes.zeros import PAD
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_WINDOWS

PADS: Sequence[Dim] = ANY_WINDOWS["pads"]
KEPT, *FURTHER = map(symbol, "npq")
"""How much a slice keeps of what zeros are around, and how much it leaves out before and behind."""

SIDES = {-2: (0, 2), -1: (1, 3)}
"""Where pads say how many zeros are before and behind an axis."""

NOWHERE, BEHIND = (0, 0, 0, 0), (0, 0, 1, 1)
ODD = "2*h+1 2*w+1"
"""Rows and columns that a last one of zeros makes even."""

CONVOLVED = tuple(
    Cut((f"n g*c {ODD}", "g*m c 1 1", *bias), {**ANY_WINDOWS, "group": G, "strides": (2, 2)}) for bias in ((), ("g*m",))
)


def discover_cropped(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which zeros around pixels are left out, with the named operators, in the order of their text."""
    builder = library.builder()
    rules = (*_sliced(builder), *_out_of_reach(builder)) if PAD in operators else ()
    return confirmed(rules, builder, seed, operators)


def _sliced(builder: Builder) -> Iterator[Rule]:
    """A slice of what has zeros around it, which begins and ends among these or further inside."""
    for axis, inside in product(SIDES, product((False, True), repeat=2)):
        yield _crop(builder, axis, inside)
    for axis, sides in SIDES.items():
        before, behind = (PADS[side] for side in sides)
        x = _pixels(axis, [KEPT])
        pads = [pad if place in sides else 0 for place, pad in enumerate(PADS)]
        yield Rule((_cut(builder, _padded(builder, x, pads), axis, (before, KEPT, behind)),), (x,))


def _crop(builder: Builder, axis: int, inside: Sequence[bool]) -> Rule:
    """One that leaves out some zeros, or all of them and something of what they are around, at either side."""
    pads, left = list(PADS), list(PADS)
    whole: list[Dim] = [0, KEPT, 0]
    kept = list(whole)
    for side, place, further, deep in zip((0, 2), SIDES[axis], FURTHER, inside, strict=True):
        if deep:
            whole[side], kept[side] = further, further + PADS[place]
            left[place] = 0
        else:
            kept[side], kept[1] = further, kept[1] + PADS[place]
            pads[place] = PADS[place] + further
    x = _pixels(axis, whole)
    some = _cut(builder, x, axis, whole) if any(inside) else x
    return Rule((_cut(builder, _padded(builder, x, pads), axis, kept),), (_padded(builder, some, left),))


def _out_of_reach(builder: Builder) -> Iterator[Rule]:
    """Windows of one pixel at every second place, with a last row and column of zeros and without."""
    x = Var("x0", parse_scheme(f"*b {ODD}"))
    even, odd = (builder.Subsample(term, strides=(2, 2)) for term in (_padded(builder, x, BEHIND), x))
    yield Rule((even,), (odd,))
    for cut in CONVOLVED:
        operands = [Var(f"x{at}", parse_scheme(scheme)) for at, scheme in enumerate(cut.schemes)]
        even, odd = (builder.apply("Conv", operands, {**cut.attributes, "pads": pads}) for pads in (BEHIND, NOWHERE))
        yield Rule((even,), (odd,))


def _pixels(axis: int, sizes: Sequence[Dim]) -> Var:
    """An image, the size of whose one axis is a sum."""
    rows = str(total(sizes))
    return Var("x0", parse_scheme(f"*b {rows} t1" if axis < -1 else f"*b t2 {rows}"))


def _padded(builder: Builder, x: Term, pads: Sequence[Dim]) -> Term:
    return builder.apply(PAD, (x,), {"pads": tuple(pads)})


def _cut(builder: Builder, x: Term, axis: int, sizes: Sequence[Dim]) -> Term:
    return builder.apply(SLICE, (x,), {"axis": axis, "sizes": tuple(sizes)})
