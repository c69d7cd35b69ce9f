"""Exponentials divided by their sum along one axis counted from the end."""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import along_one_axis, shares


def evaluate(xp, x, axis):
    return shares(xp, x, axis)


OPERATOR = along_one_axis("Softmax", evaluate, choices={"shares": ({"axis": -1}, {"axis": -2})})


@definition(axis=(-1, -2, -3))
def softmax(op, x: "*b @n", axis):
    powers = op.Exp(op.Sub(x, op.ReduceMax(x, axes=(axis,))))
    return op.Softmax(x, axis=axis), op.Div(powers, op.ReduceSum(powers, axes=(axis,)))
