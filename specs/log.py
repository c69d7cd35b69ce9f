"""The natural logarithm."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.transcendental import LOG


def evaluate(xp, x):
    return xp.apply(LOG, x)


OPERATOR = scalar_operator("Log", evaluate)
