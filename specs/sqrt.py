"""The square root."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.transcendental import SQRT


def evaluate(xp, x):
    return xp.apply(SQRT, x)


OPERATOR = scalar_operator("Sqrt", evaluate)
