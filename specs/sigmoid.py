"""The logistic function, 1 / (1 + exp(-x))."""

import numpy as np

from taso_opt.spec import ScalarFunction
from taso_opt.spec.elementwise import unary_laws, unary_operator

SIGMOID = ScalarFunction("sigmoid", lambda x: 0.5 * (1 + np.tanh(0.5 * x)), monotone=True)
OPERATOR = unary_operator("Sigmoid", SIGMOID)
AXIOMS = unary_laws("Sigmoid", SIGMOID)
