"""Max pooling over spatial axes in floor mode (ONNX MaxPool without its indices output)."""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shared.joining import halves
from taso_opt.spec.shared.shapes import check_pooling_pads, pooling_conditions, window_outputs
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS, padded, read_windows

SQUARE = tuple(
    {"kernel": kernel, "strides": strides, "pads": pads, "dilations": (1, 1)}
    for kernel, strides, pads in (
        ((2, 2), (2, 2), (0, 0, 0, 0)),
        ((3, 3), (1, 1), (1, 1, 1, 1)),
        ((3, 3), (2, 2), (0, 0, 0, 0)),
        ((3, 3), (2, 2), (1, 1, 1, 1)),
    )
)

ANY = {**ANY_WINDOWS, **ANY_KERNEL}
AUTOMATIC = ("SAME_UPPER", "SAME_LOWER")


def infer(x, kernel, strides, pads, dilations):
    if x.rank != len(kernel) + 2:
        raise TypeMismatch(f"expected an image of rank {len(kernel) + 2} for MaxPool, found {x}")
    check_pooling_pads(kernel, pads)
    spatial = window_outputs(x.shape[2:], kernel, strides, pads, dilations)
    return TensorType(x.dtype, (*x.shape[:2], *spatial))


def evaluate(xp, x, kernel, strides, pads, dilations):
    windows = xp.windows(padded(xp, x, pads, lowest=True), kernel, strides, dilations)
    return xp.maximum(windows, tuple(range(-len(kernel), 0)))


def read(op, node):
    kernel = tuple(node.attribute("kernel_shape", ()))
    if node.output_count > 1 or node.attribute("ceil_mode", 0) or not kernel:
        return None
    if node.attribute("auto_pad", "NOTSET") in AUTOMATIC and any(step != 1 for step in node.attribute("dilations", [])):
        return None  # ONNX Runtime pads as if windows had no gaps
    windows = read_windows(node, kernel)
    return None if windows is None else op.MaxPool(node.inputs[0], kernel=kernel, **windows)


def write(term, context):
    attributes = {name: list(value) for name, value in term.attributes}
    attributes["kernel_shape"] = attributes.pop("kernel")
    if context.opset < 10 and any(step != 1 for step in attributes.pop("dilations")):
        return None
    return OnnxCall("MaxPool", term.args, attributes)


OPERATOR = Operator(
    "MaxPool",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("MaxPool",), read, write),
    arity=1,
    choices={"image": SQUARE},
    conditions=pooling_conditions,
    greatest=True,
)


@axiom(windows=(ANY,))
def maxpool_of_joined_channels(op, x: "n c h w", y: "n d h w", windows):
    joined = op.Concat(op.MaxPool(x, **windows), op.MaxPool(y, **windows), axis=-3)
    return joined, op.MaxPool(op.Concat(x, y, axis=-3), **windows)


@axiom(windows=(ANY,))
def maxpool_of_a_larger_batch(op, x: "n c h w", y: "m c h w", windows):
    joined = op.Concat(op.MaxPool(x, **windows), op.MaxPool(y, **windows), axis=-4)
    return joined, op.MaxPool(op.Concat(x, y, axis=-4), **windows)


@axiom(windows=(ANY,))
def maxpool_of_split_channels(op, x: "m n+p h w", windows):
    parts = tuple(op.MaxPool(part, **windows) for part in halves(op, x, -3))
    return halves(op, op.MaxPool(x, **windows), -3), parts


@axiom(windows=(ANY,))
def maxpool_of_split_batch(op, x: "n+p c h w", windows):
    parts = tuple(op.MaxPool(part, **windows) for part in halves(op, x, -4))
    return halves(op, op.MaxPool(x, **windows), -4), parts
