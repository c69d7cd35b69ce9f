"""The error function."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.transcendental import ERF


def evaluate(xp, x):
    return xp.apply(ERF, x)


OPERATOR = scalar_operator("Erf", evaluate)
