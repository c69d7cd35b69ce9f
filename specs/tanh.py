"""The hyperbolic tangent."""

import numpy as np

from taso_opt.spec import ScalarFunction
from taso_opt.spec.elementwise import unary_laws, unary_operator

TANH = ScalarFunction("tanh", np.tanh, zero_preserving=True, monotone=True)
OPERATOR = unary_operator("Tanh", TANH)
AXIOMS = unary_laws("Tanh", TANH)
