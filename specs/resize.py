"""Every row and every column of the last two axes repeated: `scales` says how often.

ONNX also interpolates (see interpolate.py), shrinks, resizes other axes and picks neighbours by other formulas, which
stays opaque.
"""

from taso_opt.core.dims import symbol
from taso_opt.core.types import FLOATS
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.enlarging import MODES_SINCE, enlarged, full_scales, resize_call, scales_of
from taso_opt.spec.shared.resampling import method_of

RESIZE_SINCE = 10
"""The opset that has Resize in place of Upsample, which took the scales as an attribute before 9."""

SCALES_ARE_AN_INPUT = 9

ROUNDED = ("round_prefer_floor", "round_prefer_ceil")
HALF_PIXELS = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
EXACT = {
    ("asymmetric", "floor"),
    ("tf_half_pixel_for_nn", "floor"),
    *((pixel, rounded) for pixel in HALF_PIXELS for rounded in ROUNDED),
}
"""What gives the element at i // s for every whole s; with (i + 0.5) / s - 0.5 no place lies half way between two."""


def infer(x, scales):
    return enlarged("Resize", x, scales)


def evaluate(xp, x, scales):
    *leading, rows, columns = xp.shape(x)
    down, across = scales
    apart = xp.reshape(x, (*leading, rows, 1, columns, 1))
    repeated = xp.broadcast(apart, (*leading, rows, down, columns, across))
    return xp.reshape(repeated, (*leading, rows * down, columns * across))


def read(op, node):
    kind, scales = node.types[0], scales_of(node)
    if kind is None or kind.dtype not in FLOATS or kind.rank < 2 or scales is None:
        return None
    exact = _is_exact(node)
    method = method_of(node) if not exact and node.op_type == "Resize" and node.opset >= MODES_SINCE else None
    if not exact and method is None:
        return None
    if set(scales) == {1}:  # every element stays where it is
        return node.inputs[0]
    return (
        op.Resize(node.inputs[0], scales=scales)
        if exact
        else op.Interpolate(node.inputs[0], method=method, scales=scales)
    )


def _is_exact(node):
    """Whether a node picks the element at i // s along every axis."""
    if node.attribute("mode", "nearest") != "nearest" or node.attribute("antialias", 0):
        return False
    if node.op_type == "Upsample" or node.opset < MODES_SINCE:
        return True
    places = node.attribute("coordinate_transformation_mode", "half_pixel")
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    return policy == "stretch" and (places, node.attribute("nearest_mode", ROUNDED[0])) in EXACT


def write(term, context):
    if context.opset >= MODES_SINCE:
        places = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return resize_call(term, context, {"mode": "nearest", **places})
    factors = full_scales(term, context)
    if factors is None:
        return None
    if context.opset < SCALES_ARE_AN_INPUT:
        return OnnxCall("Upsample", term.args, {"mode": "nearest", "scales": factors.tolist()})
    name = "Upsample" if context.opset < RESIZE_SINCE else "Resize"
    return OnnxCall(name, (*term.args, factors), {"mode": "nearest"})


OPERATOR = Operator(
    "Resize",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Resize", "Upsample"), read, write, in_many_ways=True),
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
