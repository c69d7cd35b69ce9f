"""The smooth positive part log(1 + exp(x)), in the form that does not overflow."""

from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.transcendental import softplus

OPERATOR = scalar_operator("Softplus", softplus)
