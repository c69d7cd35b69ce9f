"""The rectified linear unit, max(x, 0)."""

from taso_opt.core.literal import literal
from taso_opt.spec import definition
from taso_opt.spec.shared.elementwise import unary_laws, unary_operator
from taso_opt.spec.shared.piecewise import RELU, by_sign

OPERATOR = unary_operator("Relu", RELU)
AXIOMS = unary_laws("Relu", RELU)


@definition(respelled=False)
def relu(op, x: "*a"):
    return op.Relu(x), by_sign(op, x, literal(0), x)
