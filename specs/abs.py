"""The absolute value."""

from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.piecewise import negated, positive


def evaluate(xp, x):
    return xp.add(positive(xp, x), positive(xp, negated(xp, x)))


OPERATOR = scalar_operator("Abs", evaluate)
