"""The hyperbolic tangent."""

from taso_opt.spec.shared.elementwise import unary_laws, unary_operator
from taso_opt.spec.shared.transcendental import TANH

OPERATOR = unary_operator("Tanh", TANH)
AXIOMS = unary_laws("Tanh", TANH)
