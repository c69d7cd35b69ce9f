"""One over x."""

from fractions import Fraction

from taso_opt.spec.shared.elementwise import scalar_operator


def evaluate(xp, x):
    return xp.divide(xp.constant(Fraction(1)), x)


OPERATOR = scalar_operator("Reciprocal", evaluate)
