"""What operators share that ONNX says as a Resize by whole numbers: their types, and the nodes read and written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taso_opt.core.dims import Dim
from taso_opt.core.term import Apply
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec.operator import Array, OnnxCall, OnnxNode, WriteContext
from taso_opt.spec.shared.shapes import axis_from_end, is_star

MODES_SINCE = 11
"""Before, places were rounded down or not at all, and the scales were the second operand."""

REGION_IS_OPTIONAL = 13


def enlarged(operator: str, x: TensorType, scales: Sequence[Dim]) -> TensorType:
    """The type of a tensor with so many times as many rows and columns; TypeMismatch where it has none."""
    if x.rank < 2 or any(is_star(dim) for dim in x.shape[-2:]) or len(scales) != 2:
        raise TypeMismatch(f"expected rows and columns with a scale each for {operator}, found {x} and {list(scales)}")
    if any(isinstance(scale, int) and scale < 1 for scale in scales):
        raise TypeMismatch(f"expected scales of at least 1 for {operator}, found {list(scales)}")
    rows, columns = (size * scale for size, scale in zip(x.shape[-2:], scales, strict=True))
    return TensorType(x.dtype, (*x.shape[:-2], rows, columns))


def scales_of(node: OnnxNode) -> tuple[int, int] | None:
    """How many times a Resize or Upsample has the rows and columns; None if not known, not whole, or of other axes."""
    kind = node.types[0]
    found = None if kind is None else _scales(node, kind.shape)
    if found is None or any(scale < 1 or scale != int(scale) for scale in found) or set(found[:-2]) > {1.0}:
        return None
    down, across = map(int, found[-2:])
    return down, across


def resize_call(term: Apply, context: WriteContext, attributes: dict[str, object]) -> OnnxCall | None:
    """A Resize with the scales of a term; None where these are not numbers or the opset has no such Resize."""
    factors = full_scales(term, context)
    if factors is None or context.opset < MODES_SINCE:
        return None
    region = None if context.opset >= REGION_IS_OPTIONAL else np.array([], np.float32)
    return OnnxCall("Resize", (*term.args, region, factors), attributes)


def full_scales(term: Apply, context: WriteContext) -> Array | None:
    """The scales of a term for every axis, None where they are not numbers."""
    scales = term.attribute("scales")
    assert isinstance(scales, tuple), f"expected a scale for rows and one for columns, found {scales!r}"
    numbers = [float(scale) for scale in scales if isinstance(scale, int)]
    if len(numbers) < len(scales):
        return None
    return np.array([1.0] * (context.type_of(term.args[0]).rank - 2) + numbers, np.float32)


def _scales(node: OnnxNode, shape: tuple[Dim, ...]) -> tuple[float, ...] | None:
    """A scale for each axis; None where they are not known, or sizes are given that are no whole multiples."""
    modern = node.op_type == "Resize" and node.opset >= MODES_SINCE
    at = 2 if modern else 1
    scales, sizes = (node.constants[place] if len(node.constants) > place else None for place in (at, 3))
    found: Sequence[float] | None
    if scales is not None and len(scales):
        found = [float(scale) for scale in scales]
    elif modern and sizes is not None:
        found = _ratios(node, shape, [int(size) for size in sizes])
    else:
        found = node.attributes.get("scales") if node.op_type == "Upsample" else None
    if found is None:
        return None
    axes = node.attribute("axes", None)
    places = range(len(shape)) if axes is None else [axis_from_end(axis, len(shape)) + len(shape) for axis in axes]
    if len(found) != len(places):
        return None
    scale_of = dict(zip(places, found, strict=True))
    return tuple(scale_of.get(axis, 1.0) for axis in range(len(shape)))


def _ratios(node: OnnxNode, shape: tuple[Dim, ...], sizes: list[int]) -> list[float] | None:
    axes = node.attribute("axes", None)
    old = shape if axes is None else [shape[axis] for axis in axes]
    known = [size for size in old if isinstance(size, int) and size > 0]
    if len(known) < len(old) or len(old) != len(sizes):
        return None
    return [new / size if new % size == 0 else 0.0 for new, size in zip(sizes, known, strict=True)]
