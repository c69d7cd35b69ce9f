"""Exponentials divided by their sum along one axis counted from the end."""

from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.reductions import shares
from taso_opt.spec.shapes import axis_from_end, is_star

ONE_AXIS_SINCE = 13
"""Before, ONNX took the shares of all axes from the given one on together."""


def infer(x, axis):
    if not -x.rank <= axis < 0 or any(is_star(dim) for dim in x.shape[axis:]):
        raise TypeMismatch(f"expected a tensor with axis {axis} for Softmax, found {x}")
    return x


def evaluate(xp, x, axis):
    return shares(xp, x, axis)


def read(op, node):
    kind = node.types[0]
    if kind is None:
        return None
    axis = axis_from_end(node.attribute("axis", -1 if node.opset >= ONE_AXIS_SINCE else 1), kind.rank)
    if node.opset < ONE_AXIS_SINCE and axis != -1:
        return None
    return op.Softmax(node.inputs[0], axis=axis)


def write(term, context):
    axis = term.attribute("axis")
    if context.opset < ONE_AXIS_SINCE and axis != -1:
        return None
    return OnnxCall("Softmax", term.args, {"axis": axis + context.type_of(term.args[0]).rank})


OPERATOR = Operator(
    "Softmax",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Softmax",), read, write),
    arity=1,
    choices={"shares": ({"axis": -1}, {"axis": -2})},
    defined=True,
)


@definition(axis=(-1, -2, -3))
def softmax(op, x: "*b @n", axis):
    powers = op.Exp(op.Sub(x, op.ReduceMax(x, axes=(axis,))))
    return op.Softmax(x, axis=axis), op.Div(powers, op.ReduceSum(powers, axes=(axis,)))
