"""Element-wise negation."""

from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.piecewise import negated

OPERATOR = scalar_operator("Neg", negated)
