"""An axis of size one taken away; the attribute counts it from the end of the operand.

ONNX's node is read as a Reshape, of which more is known; this operator says the same without naming the other sizes.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Operator, Spelling, definition
from taso_opt.spec.shared.axes import call_for_axis, node_axes
from taso_opt.spec.shared.shapes import axis_from_end, is_star


def infer(x, axis):
    at = x.rank + axis
    if axis >= 0 or at < 0 or x.shape[at] != 1 or any(is_star(dim) for dim in x.shape[at:]):
        raise TypeMismatch(f"expected an axis {axis} of size 1 for Squeeze, found {x}")
    return TensorType(x.dtype, (*x.shape[:at], *x.shape[at + 1 :]))


def evaluate(xp, x, axis):
    shape = xp.shape(x)
    at = len(shape) + axis
    return xp.reshape(x, (*shape[:at], *shape[at + 1 :]))


def read(op, node):
    kind, axes = node.types[0], node_axes(node)
    if kind is None or axes is None:
        return None
    if not axes and not kind.is_static:
        return None
    gone = {axis_from_end(axis, kind.rank) + kind.rank for axis in axes}
    gone = gone or {at for at, dim in enumerate(kind.shape) if dim == 1}
    if any(kind.shape[at] != 1 for at in gone):
        return None
    return op.Reshape(node.inputs[0], shape=tuple(dim for at, dim in enumerate(kind.shape) if at not in gone))


def write(term, context):
    return call_for_axis(term, context, context.type_of(term.args[0]).rank)


OPERATOR = Operator(
    "Squeeze",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Squeeze",), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition("x: n 1 w", "x: n c h 1 w", respelled=False)
def squeeze_before_the_last_axis(op, x: "n c 1 w"):
    *leading, _, columns = op.type(x).shape
    return op.Squeeze(x, axis=-2), op.Reshape(x, shape=(*leading, columns))
