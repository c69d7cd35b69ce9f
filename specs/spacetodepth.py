"""Blocks of pixels moved into channels, those of one place of all blocks side by side: the way back of DepthToSpace."""

from taso_opt.core.dims import divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.shapes import check_rank


def infer(x, block):
    check_rank("operand of SpaceToDepth", x, 4)
    batch, channels, rows, columns = x.shape
    high, wide = divide(rows, block), divide(columns, block)
    if high * block != rows or wide * block != columns:
        raise TypeMismatch(f"expected pixels that blocks of {block} by {block} divide for SpaceToDepth, found {x}")
    return TensorType(x.dtype, (batch, channels * (block * block), high, wide))


def evaluate(xp, x, block):
    batch, channels, rows, columns = xp.shape(x)
    high, wide = divide(rows, block), divide(columns, block)
    apart = xp.reshape(x, (batch, channels, high, block, wide, block))
    return xp.reshape(xp.transpose(apart, (0, 3, 5, 1, 2, 4)), (batch, block * block * channels, high, wide))


def read(op, node):
    return None if node.types[0] is None else op.SpaceToDepth(node.inputs[0], block=node.attribute("blocksize", 1))


def write(term, context):
    return OnnxCall("SpaceToDepth", term.args, {"blocksize": term.attribute("block")})


OPERATOR = Operator(
    "SpaceToDepth",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("SpaceToDepth",), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition(respelled=False)
def space_to_depth(op, x: "n c h*k w*k"):
    n, k, c, h, w = map(symbol, "nkchw")
    apart = op.Transpose(op.Reshape(x, shape=(n, c, h, k, w, k)), perm=(-3, -1, -5, -4, -2))
    return op.SpaceToDepth(x, block=k), op.Reshape(apart, shape=(n, k * k * c, h, w))


@definition(respelled=False)
def space_to_depth_with_channels_apart(op, x: "n c h*k w*k"):
    n, k, c, h, w = map(symbol, "nkchw")
    blocks = op.Reshape(op.SpaceToDepth(x, block=k), shape=(n, k * k, c, h, w))
    apart = op.Transpose(op.Reshape(x, shape=(n, c, h, k, w, k)), perm=(-3, -1, -4, -2))
    ordered = op.Transpose(blocks, perm=(-3, -4, -2, -1))
    return tuple(op.Reshape(each, shape=(n, c * k * k, h, w)) for each in (ordered, apart))
