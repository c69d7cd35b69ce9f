"""Every row and every column of the last two axes repeated: `scales` says how often.

ONNX also interpolates, shrinks, resizes other axes and picks neighbours by other formulas; such nodes stay opaque.
"""

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.core.types import FLOATS, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shapes import axis_from_end, is_star

RESIZE_SINCE = 10
"""The opset that has Resize in place of Upsample, which took the scales as an attribute before 9."""

SCALES_ARE_AN_INPUT = 9
MODES_SINCE = 11
"""Before, places were rounded down, and the scales were the second operand."""

REGION_IS_OPTIONAL = 13

ROUNDED = ("round_prefer_floor", "round_prefer_ceil")
HALF_PIXELS = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
EXACT = {
    ("asymmetric", "floor"),
    ("tf_half_pixel_for_nn", "floor"),
    *((pixel, rounded) for pixel in HALF_PIXELS for rounded in ROUNDED),
}
"""What gives the element at i // s for every whole s; with (i + 0.5) / s - 0.5 no place lies half way between two."""


def infer(x, scales):
    if x.rank < 2 or any(is_star(dim) for dim in x.shape[-2:]) or len(scales) != 2:
        raise TypeMismatch(f"expected rows and columns with a scale each for Resize, found {x} and {list(scales)}")
    if any(isinstance(scale, int) and scale < 1 for scale in scales):
        raise TypeMismatch(f"expected scales of at least 1 for Resize, found {list(scales)}")
    rows, columns = (size * scale for size, scale in zip(x.shape[-2:], scales, strict=True))
    return TensorType(x.dtype, (*x.shape[:-2], rows, columns))


def evaluate(xp, x, scales):
    *leading, rows, columns = xp.shape(x)
    down, across = scales
    apart = xp.reshape(x, (*leading, rows, 1, columns, 1))
    repeated = xp.broadcast(apart, (*leading, rows, down, columns, across))
    return xp.reshape(repeated, (*leading, rows * down, columns * across))


def read(op, node):
    kind = node.types[0]
    if kind is None or kind.dtype not in FLOATS or kind.rank < 2 or not _is_exact(node):
        return None
    scales = _scales(node, kind.shape)
    if scales is None or any(scale < 1 or scale != int(scale) for scale in scales) or set(scales[:-2]) > {1.0}:
        return None
    return op.Resize(node.inputs[0], scales=tuple(int(scale) for scale in scales[-2:]))


def _is_exact(node):
    """Whether a node picks the element at i // s along every axis."""
    if _text(node.attribute("mode", "nearest")) != "nearest" or node.attribute("antialias", 0):
        return False
    if node.op_type == "Upsample" or node.opset < MODES_SINCE:
        return True
    places = _text(node.attribute("coordinate_transformation_mode", "half_pixel"))
    policy = _text(node.attribute("keep_aspect_ratio_policy", "stretch"))
    return policy == "stretch" and (places, _text(node.attribute("nearest_mode", ROUNDED[0]))) in EXACT


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _scales(node, shape):
    """A scale for each axis; None where they are not known, or sizes are given that are no whole multiples."""
    modern = node.op_type == "Resize" and node.opset >= MODES_SINCE
    at = 2 if modern else 1
    given = (*node.constants, *(None,) * (4 - len(node.constants)))
    if given[at] is not None and len(given[at]):
        found = [float(scale) for scale in given[at]]
    elif modern and given[3] is not None:
        found = _ratios(node, shape, [int(size) for size in given[3]])
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


def _ratios(node, shape, sizes):
    axes = node.attribute("axes", None)
    old = shape if axes is None else [shape[axis] for axis in axes]
    if len(old) != len(sizes) or not all(isinstance(size, int) and size > 0 for size in old):
        return None
    return [new / size if new % size == 0 else 0.0 for new, size in zip(sizes, old, strict=True)]


def write(term, context):
    scales = term.attribute("scales")
    if not all(isinstance(scale, int) for scale in scales):
        return None
    full = [1.0] * (context.type_of(term.args[0]).rank - 2) + [float(scale) for scale in scales]
    factors = np.array(full, np.float32)
    if context.opset < SCALES_ARE_AN_INPUT:
        return OnnxCall("Upsample", term.args, {"mode": "nearest", "scales": full})
    if context.opset < MODES_SINCE:
        name = "Upsample" if context.opset < RESIZE_SINCE else "Resize"
        return OnnxCall(name, (*term.args, factors), {"mode": "nearest"})
    region = None if context.opset >= REGION_IS_OPTIONAL else np.array([], np.float32)
    places = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return OnnxCall("Resize", (*term.args, region, factors), {"mode": "nearest", **places})


OPERATOR = Operator(
    "Resize",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Resize", "Upsample"), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition()
def resize(op, x: "n c h w"):
    n, c, h, w, down, across = map(symbol, ("n", "c", "h", "w", "s_h", "s_w"))
    apart = op.Reshape(x, shape=(n, c, h, 1, w, 1))
    repeated = op.Expand(apart, shape=(n, c, h, down, w, across))
    return op.Resize(x, scales=(down, across)), op.Reshape(repeated, shape=(n, c, h * down, w * across))
