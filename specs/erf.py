"""The error function."""

import math

import numpy as np

from taso_opt.spec import ScalarFunction
from taso_opt.spec.elementwise import scalar_operator

ERF = ScalarFunction("erf", np.vectorize(math.erf, otypes=[float]), zero_preserving=True, monotone=True)


def evaluate(xp, x):
    return xp.apply(ERF, x)


OPERATOR = scalar_operator("Erf", evaluate)
