"""The absolute value."""

from taso_opt.spec import definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import by_sign, magnitude


def evaluate(xp, x):
    return magnitude(xp, x)


OPERATOR = scalar_operator("Abs", evaluate)


@definition(respelled=False)
def absolute(op, x: "*a"):
    return op.Abs(x), by_sign(op, x, op.Neg(x), x)
