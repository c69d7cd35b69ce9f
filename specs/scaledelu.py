"""x above zero, alpha (exp(x) - 1) below, with alpha as an operand, so that a rule binds it.

ONNX says Elu, and a node of that is read as this one unless its alpha is 1, as it mostly is.
"""

from fractions import Fraction

from taso_opt.core.literal import literal
from taso_opt.spec import OnnxCall, Spelling, definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import by_sign, negated, positive
from taso_opt.spec.shared.transcendental import EXP


def evaluate(xp, x, alpha):
    below = xp.apply(EXP, negated(xp, positive(xp, negated(xp, x))))
    return xp.add(positive(xp, x), xp.multiply(xp.subtract(below, xp.constant(Fraction(1))), alpha))


def write(term, context):
    x, alpha = term.args
    value = context.value_of(alpha)
    return None if value is None else OnnxCall("Elu", (x,), {"alpha": float(value)})


OPERATOR = scalar_operator("ScaledElu", evaluate, 2, numbers=True, spelling=Spelling((), lambda op, node: None, write))


@definition(respelled=False)
def scaled_elu(op, x: "*a", alpha: ""):
    return op.ScaledElu(x, alpha), by_sign(op, x, op.Mul(op.Sub(op.Exp(x), literal(1)), alpha), x)
