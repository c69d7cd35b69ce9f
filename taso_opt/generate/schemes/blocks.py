"""Candidates about images whose blocks of two by two pixels become channels, as detectors do it before anything else.

The four pixels of each block are taken by slices with steps and joined, by `SpaceToDepth`, or moved by a Transpose. A
convolution of that is one of the image itself, whose kernel is larger and moves on by two pixels: the kernel's channels
become blocks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from taso_opt.core.dims import Dim, divide, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.elementwise import SWAP
from taso_opt.spec.shared.windows import ANY_WINDOWS

BLOCK = 2
IMAGE, KERNEL, BIAS = "n c 2*h 2*w", "m 4*c i j", "m"
SIDES = {-2: symbol("h") * BLOCK, -1: symbol("w") * BLOCK}
ROWS, COLUMNS = SIDES

PADS: tuple[Dim, ...] = ANY_WINDOWS["pads"]
WINDOWS: Mapping[str, Attribute] = {**ANY_WINDOWS, "dilations": (1, 1), "strides": (1, 1), "group": 1}
LARGER: Mapping[str, Attribute] = {
    **WINDOWS,
    "pads": tuple(pad * BLOCK for pad in PADS),
    "strides": (BLOCK, BLOCK),
}
"""Windows of blocks, and of the pixels that these consist of."""

Place = tuple[int, int]
BY_ROWS: tuple[Place, ...] = ((0, 0), (0, 1), (1, 0), (1, 1))
BY_COLUMNS: tuple[Place, ...] = ((0, 0), (1, 0), (0, 1), (1, 1))
"""The places in a block: by rows is the order in which `SpaceToDepth` makes channels of them."""


def discover_blocks(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about blocks of pixels, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed(_candidates(builder), builder, seed, operators)


def _candidates(builder: Builder) -> Iterator[Rule]:
    x = Var("x", parse_scheme(IMAGE))
    blocks = builder.SpaceToDepth(x, block=BLOCK)
    yield from _convolved(builder, x, blocks, _by_rows)
    yield from _convolved(builder, x, _moved_by_columns(builder, x), _by_columns)
    for take in (_at_once, _rows_first, _columns_first):
        by_rows, by_columns = (
            builder.Concat(*(take(builder, x, place) for place in order), axis=-3) for order in (BY_ROWS, BY_COLUMNS)
        )
        yield Rule((by_rows,), (blocks,))
        yield from _convolved(builder, x, by_rows, _by_rows)
        yield from _convolved(builder, x, by_columns, _by_columns)


def _convolved(builder: Builder, x: Term, blocks: Term, enlarge: Callable[[Builder, Term], Term]) -> Iterator[Rule]:
    """A convolution of blocks, with and without bias, and that of the image with the enlarged kernel."""
    w, b = (Var(name, parse_scheme(scheme)) for name, scheme in (("w", KERNEL), ("b", BIAS)))
    for bias in ((), (b,)):
        source = builder.apply("Conv", (blocks, w, *bias), WINDOWS)
        yield Rule((source,), (builder.apply("Conv", (x, enlarge(builder, w), *bias), LARGER),))


def _by_rows(builder: Builder, kernel: Term) -> Term:
    """A kernel of blocks as one of pixels, where the channels stand in the order of `SpaceToDepth`."""
    return builder.DepthToSpace(kernel, block=BLOCK)


def _by_columns(builder: Builder, kernel: Term) -> Term:
    """The same where the pixels of a column stand side by side."""
    return builder.Transpose(_by_rows(builder, builder.Transpose(kernel, perm=SWAP)), perm=SWAP)


def _moved_by_columns(builder: Builder, x: Term) -> Term:
    """All pixels of blocks moved into channels at once; by rows that is what `SpaceToDepth` is defined as."""
    batch, channels, rows, columns = builder.type(x).shape
    high, wide = divide(rows, BLOCK), divide(columns, BLOCK)
    apart = builder.Reshape(x, shape=(batch, channels, high, BLOCK, wide, BLOCK))
    moved = builder.Transpose(apart, perm=(-1, -3, -5, -4, -2))
    return builder.Reshape(moved, shape=(batch, channels * BLOCK * BLOCK, high, wide))


def _at_once(builder: Builder, x: Term, place: Place) -> Term:
    """One pixel of each block, by one slice with steps along both axes."""
    for axis, at in zip((ROWS, COLUMNS), place, strict=True):
        x = _from(builder, x, axis, at)
    return builder.Subsample(x, strides=(BLOCK, BLOCK))


def _rows_first(builder: Builder, x: Term, place: Place) -> Term:
    """The same by a slice of rows and then one of columns."""
    row, column = place
    rows = builder.Subsample(_from(builder, x, ROWS, row), strides=(BLOCK, 1))
    return builder.Subsample(_from(builder, rows, COLUMNS, column), strides=(1, BLOCK))


def _columns_first(builder: Builder, x: Term, place: Place) -> Term:
    """The same by a slice of columns and then one of rows."""
    row, column = place
    columns = builder.Subsample(_from(builder, x, COLUMNS, column), strides=(1, BLOCK))
    return builder.Subsample(_from(builder, columns, ROWS, row), strides=(BLOCK, 1))


def _from(builder: Builder, x: Term, axis: int, start: int) -> Term:
    """An image of two pixels a block without its first row or column, where it does not start at that."""
    return builder.Slice(x, axis=axis, sizes=(start, SIDES[axis] - start, 0)) if start else x
