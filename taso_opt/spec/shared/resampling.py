"""How ONNX's Resize mixes neighbouring elements of an axis that it makes several times as long.

Each method is linear in the elements, and keeps what all of them have in common: its shares add up to 1.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from taso_opt.spec.operator import Array, ArrayModule, OnnxNode

METHODS = (
    ("linear", "half_pixel"),
    ("linear", "align_corners"),
    ("linear", "asymmetric"),
    ("cubic", "half_pixel"),
    ("cubic", "align_corners"),
)
"""The mode of interpolation and where elements lie, as ONNX calls both; rules know a method by its number."""

SAME_PLACES = {"pytorch_half_pixel": "half_pixel", "half_pixel_symmetric": "half_pixel"}
"""Places that differ from others only where an axis gets a size of 1, or one that is no whole multiple."""

CUBIC = -0.75
"""The coefficient of Keys' cubic convolution that ONNX has by default."""


def method_of(node: OnnxNode) -> int | None:
    """The number of the method of a Resize node; None for one that is not described here."""
    plain = {"antialias": 0, "exclude_outside": 0, "cubic_coeff_a": CUBIC, "keep_aspect_ratio_policy": "stretch"}
    if any(node.attribute(name, value) != value for name, value in plain.items()):
        return None
    places = node.attribute("coordinate_transformation_mode", "half_pixel")
    named = node.attribute("mode", "nearest"), SAME_PLACES.get(places, places)
    return METHODS.index(named) if named in METHODS else None


def named(method: int) -> tuple[str, str]:
    """The mode and the places of a method. Each number has some, since rules hold for every method."""
    return METHODS[method % len(METHODS)]


def shares(method: int, size: int, scale: int) -> NDArray[np.float64]:
    """By which share each of `size` elements counts for each of `size * scale`, a row for each of the latter."""
    mode, lie = named(method)
    count = size * scale
    rows = np.arange(count)
    if lie == "half_pixel":
        places = (rows + 0.5) / scale - 0.5
    else:
        places = rows / scale if lie == "asymmetric" else rows * (size - 1) / max(count - 1, 1)
    if mode == "linear":
        places = np.clip(places, 0, size - 1)
    first = np.floor(places).astype(int)
    found = np.zeros((count, size))
    for step, share in (_linear if mode == "linear" else _cubic)(places - first).items():
        np.add.at(found, (rows, np.clip(first + step, 0, size - 1)), share)
    return found


def _linear(part: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
    return {0: 1 - part, 1: part}


def _cubic(part: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
    """The shares of four neighbours (Keys 1981), of which the second is at or before the place."""

    def near(away: NDArray[np.float64]) -> NDArray[np.float64]:
        return ((CUBIC + 2) * away - (CUBIC + 3)) * away * away + 1

    def far(away: NDArray[np.float64]) -> NDArray[np.float64]:
        return ((away - 5) * away + 8) * away * CUBIC - 4 * CUBIC

    return {-1: far(1 + part), 0: near(part), 1: near(1 - part), 2: far(2 - part)}


def resampled(xp: ArrayModule, x: Array, axis: int, method: int, scale: int) -> Array:
    """An image with one of its last two axes made several times as long.

    What the shares lack of 1 the first element has: nothing in numbers, and a proof need not know more of the shares.
    """
    size = xp.shape(x)[axis]
    named_so = f"resampling {method} {size} {scale}"
    mixed_by = xp.numbers(x, named_so, (size * scale, size), lambda: shares(method, size, scale))
    missing = xp.subtract(xp.constant(Fraction(1)), xp.sum(mixed_by, (-1,)))
    first = xp.slice(x, axis, 0, 1)
    if axis == -1:
        return xp.add(xp.contract("jq,...pq->...pj", mixed_by, x), xp.multiply(first, missing))
    rest = xp.reshape(missing, (*xp.shape(missing), 1))
    return xp.add(xp.contract("ip,...pq->...iq", mixed_by, x), xp.multiply(first, rest))
