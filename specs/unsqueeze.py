"""A new axis of size one before the axes behind it; the attribute counts it from the end of the result.

ONNX's node is read as a Reshape, of which more is known; this operator says the same without naming the other sizes.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Operator, Spelling, definition
from taso_opt.spec.shared.axes import call_for_axis, node_axes
from taso_opt.spec.shared.shapes import axis_from_end, is_star


def infer(x, axis):
    at = x.rank + 1 + axis
    if axis >= 0 or at < 0 or any(is_star(dim) for dim in x.shape[at:]):
        raise TypeMismatch(f"expected axis {axis} of a result for Unsqueeze, found {x}")
    return TensorType(x.dtype, (*x.shape[:at], 1, *x.shape[at:]))


def evaluate(xp, x, axis):
    shape = xp.shape(x)
    at = len(shape) + 1 + axis
    return xp.reshape(x, (*shape[:at], 1, *shape[at:]))


def read(op, node):
    kind, axes = node.types[0], node_axes(node)
    if kind is None or not axes:
        return None
    rank = kind.rank + len(axes)
    new = {axis_from_end(axis, rank) + rank for axis in axes}
    if len(new) < len(axes):
        return None
    old = iter(kind.shape)
    return op.Reshape(node.inputs[0], shape=tuple(1 if at in new else next(old) for at in range(rank)))


def write(term, context):
    return call_for_axis(term, context, context.type_of(term.args[0]).rank + 1)


OPERATOR = Operator(
    "Unsqueeze",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Unsqueeze",), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition("x: n w", "x: n c h w", respelled=False)
def unsqueeze_before_the_last_axis(op, x: "n c w"):
    *leading, columns = op.type(x).shape
    return op.Unsqueeze(x, axis=-2), op.Reshape(x, shape=(*leading, 1, columns))
