"""Tensors as functions from places to elements, and how they broadcast and lose axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from taso_opt.core.dims import Dim
from taso_opt.errors import TypeMismatch
from taso_opt.spec.shared.shapes import is_star
from taso_opt.verify.index_functions.elements import Element
from taso_opt.verify.index_functions.layout import Layout, merged

Place: TypeAlias = Sequence[Dim]


@dataclass(frozen=True)
class Tensor:
    """Sizes, a layout for each axis, and the element at every place inside the sizes."""

    shape: tuple[Dim, ...]
    layouts: tuple[Layout, ...]
    at: Callable[[Place], Element]


def elementwise(combined: Callable[[Element, Element], Element], x: Tensor, y: Tensor) -> Tensor:
    """The tensor of what two tensors give element by element, with broadcasting; TypeMismatch where that may fail."""
    longer, shorter = (x, y) if len(x.shape) >= len(y.shape) else (y, x)
    pairs = list(zip(longer.shape, longer.layouts, strict=True))
    first = len(longer.shape) - len(shorter.shape)
    for axis, (size, layout) in enumerate(zip(shorter.shape, shorter.layouts, strict=True), start=first):
        pairs[axis] = common(*pairs[axis], size, layout)

    def element(place: Place) -> Element:
        return combined(*(tensor.at(repeated(tensor, place)) for tensor in (x, y)))

    return Tensor(tuple(size for size, _ in pairs), tuple(layout for _, layout in pairs), element)


def common(size: Dim, layout: Layout, other: Dim, other_layout: Layout) -> tuple[Dim, Layout]:
    """The size and layout of two axes that broadcast."""
    if 1 in (size, other) and (is_star(size) or is_star(other)):
        # A star may stand for no axis at all: then the axis of size one would be one more than there is to repeat.
        raise TypeMismatch(f"expected sizes that broadcast for every number of axes, found {size} and {other}")
    if size == 1:
        return other, other_layout
    assert other in (1, size), f"expected sizes that broadcast, found {size} and {other}"
    return size, layout if other == 1 else merged(layout, other_layout)


def repeated(tensor: Tensor, place: Place) -> Place:
    """Where a broadcast tensor is read."""
    return within(tensor.shape, place[len(place) - len(tensor.shape) :])


def within(shape: Sequence[Dim], place: Place) -> tuple[Dim, ...]:
    """A place by the only index that there is along axes of one element."""
    return tuple(0 if size == 1 else index for size, index in zip(shape, place, strict=True))


def reduced(x: Tensor, axes: Sequence[int], total: Callable[[Callable[[Place], Element]], Element]) -> Tensor:
    """Axes counted from the end reduced by `total`, which gets the element as a function of their indices."""
    rank = len(x.shape)
    gone = sorted(axis + rank for axis in axes)
    kept = [axis for axis in range(rank) if axis not in gone]

    def element(place: Place) -> Element:
        def whole(indices: Place) -> Element:
            where = dict(zip((*kept, *gone), (*place, *indices), strict=True))
            return x.at([where[axis] for axis in range(rank)])

        return total(whole)

    return Tensor(tuple(x.shape[axis] for axis in kept), tuple(x.layouts[axis] for axis in kept), element)
