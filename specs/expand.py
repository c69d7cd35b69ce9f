"""Axes of size one repeated, and new axes put before the first, up to a shape; the attribute is that whole shape.

ONNX repeats to what its operand and the given shape broadcast to together, and that is the shape here.
"""

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.shapes import broadcast_shapes

SINCE = 8
"""The opset that has Expand."""


def infer(x, shape):
    if broadcast_shapes(x.shape, tuple(shape)) != tuple(shape):
        raise TypeMismatch(f"expected a shape that {x} repeats to for Expand, found {list(shape)}")
    return TensorType(x.dtype, tuple(shape))


def evaluate(xp, x, shape):
    return xp.broadcast(x, shape)


def read(op, node):
    if node.types[0] is None or len(node.inputs) < 2:
        return None
    source = node.types[0].shape
    given = _computed(node, source) if node.constants[1] is None else [int(size) for size in node.constants[1]]
    if given is None or any(isinstance(size, int) and size < 1 for size in given):
        return None
    return op.Expand(node.inputs[0], shape=broadcast_shapes(source, tuple(given)))


def _computed(node, source):
    """The shape that a node is given while it runs, where each size that is no number is the operand's own."""
    (result,) = node.results
    if result is None:
        return None
    own = (None,) * (result.rank - len(source)) + tuple(source)
    known = all(isinstance(size, int) or size == kept for size, kept in zip(result.shape, own, strict=True))
    return result.shape if known else None


def write(term, context):
    if context.opset < SINCE:
        return None
    shape = term.attribute("shape")
    source = context.type_of(term.args[0]).shape
    if len(source) > len(shape):
        return None
    # A size that is not known is that of the operand, which a one leaves as it is.
    kept = (None,) * (len(shape) - len(source)) + tuple(source)
    sizes = [size if isinstance(size, int) else 1 for size in shape]
    if any(not isinstance(size, int) and size != own for size, own in zip(shape, kept, strict=True)):
        return None
    return OnnxCall("Expand", (*term.args, np.array(sizes, np.int64)))


OPERATOR = Operator(
    "Expand",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Expand",), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition()
def expand_of_a_column(op, x: "*b m 1"):
    n = symbol("n")
    ones = op.Expand(literal(1), shape=(1, n))
    return op.Expand(x, shape=(*op.type(x).shape[:-1], n)), op.MatMul(x, ones)


@definition()
def expand_of_a_row(op, x: "*b 1 n"):
    m = symbol("m")
    ones = op.Expand(literal(1), shape=(m, 1))
    return op.Expand(x, shape=(*op.type(x).shape[:-2], m, symbol("n"))), op.MatMul(ones, x)
