"""Channels moved into blocks of pixels: those of a block stand apart by the number of channels that are left.

ONNX has another order of channels besides (CRD); such nodes stay opaque.
"""

from taso_opt.core.dims import divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.shapes import check_rank

MODES_SINCE = 11
"""The opset since which there is another order."""


def infer(x, block):
    check_rank("operand of DepthToSpace", x, 4)
    batch, channels, rows, columns = x.shape
    kept = divide(channels, block * block)
    if kept * (block * block) != channels:
        raise TypeMismatch(f"expected channels that blocks of {block} by {block} divide for DepthToSpace, found {x}")
    return TensorType(x.dtype, (batch, kept, rows * block, columns * block))


def evaluate(xp, x, block):
    batch, channels, rows, columns = xp.shape(x)
    kept = divide(channels, block * block)
    apart = xp.reshape(x, (batch, block, block, kept, rows, columns))
    return xp.reshape(xp.transpose(apart, (0, 3, 4, 1, 5, 2)), (batch, kept, rows * block, columns * block))


def read(op, node):
    if node.types[0] is None or node.attribute("mode", "DCR") != "DCR":
        return None
    return op.DepthToSpace(node.inputs[0], block=node.attribute("blocksize", 1))


def write(term, context):
    mode = {"mode": "DCR"} if context.opset >= MODES_SINCE else {}
    return OnnxCall("DepthToSpace", term.args, {"blocksize": term.attribute("block"), **mode})


OPERATOR = Operator(
    "DepthToSpace",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("DepthToSpace",), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition(respelled=False)
def depth_to_space(op, x: "n k*k*c h w"):
    n, k, c, h, w = map(symbol, "nkchw")
    apart = op.Transpose(op.Reshape(x, shape=(n, k, k, c, h, w)), perm=(-3, -2, -5, -1, -4))
    return op.DepthToSpace(x, block=k), op.Reshape(apart, shape=(n, c, h * k, w * k))
