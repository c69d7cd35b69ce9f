"""The smooth positive part log(1 + exp(x)), in the form that does not overflow."""

from taso_opt.core.literal import literal
from taso_opt.spec import definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.transcendental import softplus as _softplus

OPERATOR = scalar_operator("Softplus", _softplus)


@definition()
def softplus(op, x: "*a"):
    return op.Softplus(x), op.Log(op.Add(literal(1), op.Exp(x)))
