"""Means over the last axes, which reductions and normalizations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taso_opt.core.dims import Dim, product
from taso_opt.spec.operator import Array, ArrayModule
from taso_opt.spec.windows import WindowShares


def mean(xp: ArrayModule, x: Array, axes: Sequence[int]) -> Array:
    """The mean over axes counted from the end, which stay with size 1."""
    shape = list(xp.shape(x))
    count = product(tuple(shape[axis] for axis in axes))
    whole: Any = WindowShares((count,), (count,), (1,), (0, 0), True)  # type: ignore[arg-type]
    total = xp.sum(xp.scale(x, whole), tuple(axes))
    return xp.reshape(total, kept_shape(shape, axes))  # type: ignore[arg-type]


def kept_shape(shape: Sequence[Dim], axes: Sequence[int]) -> tuple[Dim, ...]:
    """A shape with size 1 at the axes."""
    gone = {axis % len(shape) for axis in axes}
    return tuple(1 if at in gone else size for at, size in enumerate(shape))
