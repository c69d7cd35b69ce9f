"""The logistic function, 1 / (1 + exp(-x))."""

from taso_opt.core.literal import literal
from taso_opt.spec import definition
from taso_opt.spec.shared.elementwise import unary_laws, unary_operator
from taso_opt.spec.shared.transcendental import SIGMOID

OPERATOR = unary_operator("Sigmoid", SIGMOID)
AXIOMS = unary_laws("Sigmoid", SIGMOID)


@definition()
def sigmoid(op, x: "*a"):
    return op.Sigmoid(x), op.Div(literal(1), op.Add(literal(1), op.Exp(op.Neg(x))))
