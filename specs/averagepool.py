"""Average pooling over spatial axes in floor mode; whether padding counts is an attribute, as in ONNX."""

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom, definition
from taso_opt.spec.shared.joining import halves
from taso_opt.spec.shared.shapes import check_flag, check_pooling_pads, pooling_conditions, window_outputs
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS, AROUND, WindowShares, padded, read_windows

SQUARE = tuple(
    {"kernel": kernel, "strides": strides, "pads": pads, "count_include_pad": counted}
    for kernel, strides, pads, counted in (
        ((2, 2), (2, 2), (0, 0, 0, 0), 0),
        ((3, 3), (1, 1), (1, 1, 1, 1), 0),
        ((3, 3), (1, 1), (1, 1, 1, 1), 1),
        ((3, 3), (2, 2), (0, 0, 0, 0), 0),
    )
)

ANY = tuple(
    {"strides": ANY_WINDOWS["strides"], "pads": ANY_WINDOWS["pads"], **ANY_KERNEL, "count_include_pad": counted}
    for counted in (0, 1)
)

LINES = tuple(
    {
        "kernel": (symbol("k_w"),),
        "strides": (symbol("s_w"),),
        "pads": (symbol("p_l"), symbol("p_r")),
        "count_include_pad": counted,
    }
    for counted in (0, 1)
)

INSIDE = ANY[:1]
"""Averages over what lies inside the image alone, for which padding does not matter."""


def infer(x, kernel, strides, pads, count_include_pad):
    if x.rank != len(kernel) + 2:
        raise TypeMismatch(f"expected an image of rank {len(kernel) + 2} for AveragePool, found {x}")
    check_pooling_pads(kernel, pads)
    check_flag("count_include_pad", count_include_pad)
    spatial = window_outputs(x.shape[2:], kernel, strides, pads, (1,) * len(kernel))
    return TensorType(x.dtype, (*x.shape[:2], *spatial))


def evaluate(xp, x, kernel, strides, pads, count_include_pad):
    windows = xp.windows(padded(xp, x, pads), kernel, strides, (1,) * len(kernel))
    shares = WindowShares(xp.shape(x)[2:], kernel, strides, pads, bool(count_include_pad))
    return xp.scale(xp.sum(windows, tuple(range(-len(kernel), 0))), shares)


def read(op, node):
    kernel = tuple(node.attribute("kernel_shape", ()))
    dilated = any(step != 1 for step in node.attribute("dilations", []))
    if node.attribute("ceil_mode", 0) or dilated or not kernel:
        return None
    windows = read_windows(node, kernel)
    if windows is None:
        return None
    del windows["dilations"]
    counted = int(node.attribute("count_include_pad", 0)) if any(windows["pads"]) else 0
    return op.AveragePool(node.inputs[0], kernel=kernel, **windows, count_include_pad=counted)


def write(term, context):
    attributes = {name: value if isinstance(value, int) else list(value) for name, value in term.attributes}
    attributes["kernel_shape"] = attributes.pop("kernel")
    return OnnxCall("AveragePool", term.args, attributes)


OPERATOR = Operator(
    "AveragePool",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("AveragePool",), read, write),
    arity=1,
    choices={
        "image": SQUARE,
        "pooling": (SQUARE[2], {**SQUARE[3], "strides": (1, 1)}),
        "around": tuple({**SQUARE[2], "pads": pads, "count_include_pad": int(any(pads))} for pads in AROUND),
    },
    conditions=pooling_conditions,
)


@axiom(windows=ANY)
def averagepool_of_joined_channels(op, x: "n c h w", y: "n d h w", windows):
    joined = op.Concat(op.AveragePool(x, **windows), op.AveragePool(y, **windows), axis=-3)
    return joined, op.AveragePool(op.Concat(x, y, axis=-3), **windows)


@axiom(windows=ANY)
def averagepool_of_a_larger_batch(op, x: "n c h w", y: "m c h w", windows):
    joined = op.Concat(op.AveragePool(x, **windows), op.AveragePool(y, **windows), axis=-4)
    return joined, op.AveragePool(op.Concat(x, y, axis=-4), **windows)


@axiom(windows=ANY)
def averagepool_of_add(op, x: "n c h w", y: "n c h w", windows):
    added = op.Add(op.AveragePool(x, **windows), op.AveragePool(y, **windows))
    return op.AveragePool(op.Add(x, y), **windows), added


@axiom("s: c 1 1", windows=ANY)
def averagepool_of_scaled_image(op, x: "n c h w", s: "", windows):
    return op.AveragePool(op.Mul(x, s), **windows), op.Mul(op.AveragePool(x, **windows), s)


@axiom(windows=ANY)
def averagepool_of_difference(op, x: "n c h w", y: "n c h w", windows):
    subtracted = op.Sub(op.AveragePool(x, **windows), op.AveragePool(y, **windows))
    return op.AveragePool(op.Sub(x, y), **windows), subtracted


@axiom("s: c 1 1", windows=INSIDE)
def averagepool_of_shifted_image(op, x: "n c h w", s: "", windows):
    return op.AveragePool(op.Add(x, s), **windows), op.Add(op.AveragePool(x, **windows), s)


@axiom("s: c 1 1", windows=INSIDE)
def averagepool_of_lowered_image(op, x: "n c h w", s: "", windows):
    return op.AveragePool(op.Sub(x, s), **windows), op.Sub(op.AveragePool(x, **windows), s)


@axiom("s: c 1 1", windows=INSIDE)
def averagepool_of_image_below(op, x: "n c h w", s: "", windows):
    return op.AveragePool(op.Sub(s, x), **windows), op.Sub(s, op.AveragePool(x, **windows))


@axiom(windows=ANY)
def averagepool_of_split_channels(op, x: "m n+p h w", windows):
    parts = tuple(op.AveragePool(part, **windows) for part in halves(op, x, -3))
    return halves(op, op.AveragePool(x, **windows), -3), parts


@axiom(windows=ANY)
def averagepool_of_split_batch(op, x: "n+p c h w", windows):
    parts = tuple(op.AveragePool(part, **windows) for part in halves(op, x, -4))
    return halves(op, op.AveragePool(x, **windows), -4), parts


@definition(windows=LINES)
def average_pool_of_lines(op, x: "n c w", windows):
    ones = op.Expand(literal(1), shape=(symbol("w"),))
    return op.AveragePool(x, **windows), op.MatMul(x, op.AveragingMatrix(ones, **windows))
