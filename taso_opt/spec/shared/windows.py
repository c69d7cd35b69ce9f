"""What operators that slide a window share: pads, ONNX's automatic padding and the reading of their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.spec.operator import Array, ArrayModule, OnnxNode

ANY_WINDOWS = {
    "strides": (symbol("s_h"), symbol("s_w")),
    "pads": tuple(symbol(f"p_{side}") for side in "tlbr"),
    "dilations": (symbol("d_h"), symbol("d_w")),
}
"""Strides, pads and dilations of a two-dimensional window as symbols: a law stated with them holds for all."""

ANY_KERNEL = {"kernel": (symbol("k_h"), symbol("k_w"))}


AROUND = ((0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 1, 1), (1, 2, 2, 2))
"""Pads that are enumerated together: none, two, and as many as both of these are."""


def padded(xp: ArrayModule, x: Array, pads: Sequence[int], lowest: bool = False) -> Array:
    """Pad the spatial axes; `pads` lists all begins, then all ends."""
    half = len(pads) // 2
    return xp.pad(x, list(zip(pads[:half], pads[half:], strict=True)), lowest=lowest)


@dataclass(frozen=True)
class WindowShares:
    """One over the number of elements that each window averages; `np.asarray` makes a table of fractions of it.

    Padding counts as elements or not. `sizes` are those of the image, `pads` lists all begins, then all ends.
    """

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    padding_counts: bool

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        counts = [np.array(self._counts(axis), dtype=object) for axis in range(len(self.kernel))]
        total = reduce(np.multiply.outer, counts)
        shares: Array = np.vectorize(lambda count: Fraction(1, int(count)), otypes=[object])(total)
        return shares if dtype is None else shares.astype(dtype)

    def _counts(self, axis: int) -> list[int]:
        size, width, begin, end = (
            self.sizes[axis],
            self.kernel[axis],
            self.pads[axis],
            self.pads[axis - len(self.sizes)],
        )
        starts = range(-begin, size + end - width + 1, self.strides[axis])
        if self.padding_counts:
            return [width for _ in starts]
        return [min(start + width, size) - max(start, 0) for start in starts]


def read_windows(node: OnnxNode, kernel: Sequence[int]) -> dict[str, Any] | None:
    """Strides, pads and dilations of an ONNX node as tuples; None when automatic padding cannot be resolved."""
    axes = len(kernel)
    strides = tuple(node.attribute("strides", [1] * axes))
    dilations = tuple(node.attribute("dilations", [1] * axes))
    pads = _pads(node, kernel, strides, dilations)
    return None if pads is None else {"strides": strides, "dilations": dilations, "pads": pads}


def _cut_off(total: int, mode: str) -> int:
    """How many elements automatic padding cuts off in front, where steps go beyond the kernel: half of all, truncated.

    What is cut off behind is in no window.
    """
    return max(0, -total if mode == "SAME_UPPER" else -total - 1) // 2


def _pads(
    node: OnnxNode, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...] | None:
    axes = len(kernel)
    mode = node.attribute("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return tuple(node.attribute("pads", [0] * 2 * axes))
    if mode == "VALID":
        return (0,) * 2 * axes
    kind = node.types[0]
    if kind is None or mode not in ("SAME_UPPER", "SAME_LOWER"):
        return None
    totals = []
    for size, width, stride, dilation in zip(kind.shape[2:], kernel, strides, dilations, strict=True):
        span = dilation * (width - 1) + 1
        if isinstance(size, int):
            total = (-(-size // stride) - 1) * stride + span - size
            if _cut_off(total, mode):
                return None
            totals.append(max(total, 0))
        elif stride == 1:
            totals.append(span - 1)
        else:
            return None
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*small, *large) if mode == "SAME_UPPER" else (*large, *small)
