"""The exponential function."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.transcendental import EXP


def evaluate(xp, x):
    return xp.apply(EXP, x)


OPERATOR = scalar_operator("Exp", evaluate)
