"""x over one more than its absolute value."""

from fractions import Fraction

from taso_opt.core.literal import literal
from taso_opt.spec import definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import magnitude


def evaluate(xp, x):
    return xp.divide(x, xp.add(magnitude(xp, x), xp.constant(Fraction(1))))


OPERATOR = scalar_operator("Softsign", evaluate)


@definition()
def softsign(op, x: "*a"):
    return op.Softsign(x), op.Div(x, op.Add(op.Abs(x), literal(1)))
