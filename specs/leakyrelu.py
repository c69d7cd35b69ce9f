"""max(x, 0) + slope min(x, 0), with one slope as an operand, so that a rule binds it; ONNX keeps it in an attribute."""

from taso_opt.core.literal import literal
from taso_opt.spec import OnnxCall, Spelling, definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import attribute_ratio, by_sign, fraction, negated, positive


def evaluate(xp, x, slope):
    return xp.subtract(positive(xp, x), xp.multiply(slope, positive(xp, negated(xp, x))))


def read(op, node):
    if node.types[0] is None:
        return None
    alpha = fraction(attribute_ratio(node, "alpha", 0.01))
    return op.LeakyRelu(node.inputs[0], literal(alpha, node.types[0].dtype))


def write(term, context):
    x, slope = term.args
    value = context.value_of(slope)
    return None if value is None else OnnxCall("LeakyRelu", (x,), {"alpha": float(value)})


OPERATOR = scalar_operator("LeakyRelu", evaluate, 2, numbers=True, spelling=Spelling(("LeakyRelu",), read, write))


@definition(respelled=False)
def leaky_relu(op, x: "*a", s: ""):
    return op.LeakyRelu(x, s), by_sign(op, x, op.Mul(x, s), x)
