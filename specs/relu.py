"""The rectified linear unit, max(x, 0)."""

from taso_opt.spec.elementwise import unary_laws, unary_operator
from taso_opt.spec.piecewise import RELU

OPERATOR = unary_operator("Relu", RELU)
AXIOMS = unary_laws("Relu", RELU)
