"""Element-wise negation."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import negated

OPERATOR = scalar_operator("Neg", negated)
