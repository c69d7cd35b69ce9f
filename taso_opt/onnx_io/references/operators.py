"""Operators for ONNX's reference implementation: one that it gets wrong, and one that it takes much memory for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from taso_opt.errors import UnsupportedError
from taso_opt.spec.operator import Array

MOST_COLUMNS = 128
"""How many channels of how many pixels of a window, multiplied, one product of a convolution takes at once."""


def _batch_normalized(
    node: OpRun,
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    training_mode: int = 0,
    **_: object,
) -> tuple[Array]:
    """Batch normalization by the given statistics; with those of the batch, as in training, it is not known here."""
    if training_mode or len(node.output) > 1:
        raise UnsupportedError("expected no batch normalization in training mode, found one")
    scale, bias, mean, variance = (value.reshape(-1, *[1] * (x.ndim - 2)) for value in (scale, bias, mean, variance))
    return ((x - mean) / np.sqrt(variance + epsilon) * scale + bias,)


def _convolved(
    node: OpRun,
    x: Array,
    weights: Array,
    bias: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    **_: object,
) -> tuple[Array]:
    """A convolution, as a sum of products: one for each pixel of the window, or for several where channels are few."""
    kernel, ones = weights.shape[2:], [1] * (x.ndim - 2)
    steps, gaps = strides or ones, dilations or ones
    extents = [(size - 1) * gap + 1 for size, gap in zip(kernel, gaps, strict=True)]
    margins = _margins(x.shape[2:], extents, steps, auto_pad, pads or [0, 0] * len(ones))
    image = np.pad(x, [(0, 0), (0, 0), *margins])
    sizes = [(size - extent) // step + 1 for size, extent, step in zip(image.shape[2:], extents, steps, strict=True)]
    images = image.reshape(len(x), group, -1, *image.shape[2:])
    filters = weights.reshape(group, -1, *weights.shape[1:])
    result = np.zeros((len(x), group, filters.shape[1], int(np.prod(sizes))), np.result_type(x, weights))
    for pixels in _batches(list(product(*map(range, kernel))), max(1, MOST_COLUMNS // weights.shape[1])):
        seen = [_at(images, _places(pixel, gaps, steps, sizes)) for pixel in pixels]
        taken = [_at(filters, pixel) for pixel in pixels]
        columns = np.concatenate(seen, axis=2).reshape(len(x), group, len(pixels) * weights.shape[1], -1)
        result += np.concatenate(taken, axis=2) @ columns
    found = result.reshape(len(x), len(weights), *sizes)
    return (found if bias is None else found + bias.reshape(-1, *ones),)


def _margins(
    sizes: Sequence[int], extents: Sequence[int], steps: Sequence[int], auto_pad: str, pads: Sequence[int]
) -> list[tuple[int, int]]:
    """How many zeros stand before and behind the pixels of each axis."""
    if auto_pad == "NOTSET":
        return list(zip(pads[: len(sizes)], pads[len(sizes) :], strict=True))
    if auto_pad == "VALID":
        return [(0, 0) for _ in sizes]
    axes = zip(sizes, extents, steps, strict=True)
    missing = [max((-(-size // step) - 1) * step + extent - size, 0) for size, extent, step in axes]
    lesser = [(more // 2, more - more // 2) for more in missing]
    return lesser if auto_pad == "SAME_UPPER" else [(behind, before) for before, behind in lesser]


def _places(pixel: Sequence[int], gaps: Sequence[int], steps: Sequence[int], sizes: Sequence[int]) -> Iterator[slice]:
    """Where a pixel of the window lies for all results, along each axis."""
    for at, gap, step, size in zip(pixel, gaps, steps, sizes, strict=True):
        yield slice(at * gap, at * gap + (size - 1) * step + 1, step)


def _at(values: Array, places: Iterable[Any]) -> Array:
    """What an array has at some places along its last axes."""
    return values[(..., *places)]


def _batches(pixels: Sequence[tuple[int, ...]], most: int) -> Iterator[Sequence[tuple[int, ...]]]:
    return (pixels[at : at + most] for at in range(0, len(pixels), most))


BATCH_NORMALIZATION = type("BatchNormalization", (OpRun,), {"op_domain": "", "_run": _batch_normalized})
"""ONNX's own takes every node of the opsets 9 to 13 to be in training, because its `momentum` has a default."""

CONVOLUTION = type("Conv", (OpRun,), {"op_domain": "", "_run": _convolved})
"""ONNX's own gathers all pixels of all windows, several times over."""
