"""Whether one element is at most the other, with NumPy broadcasting; at least is at most the other way round."""

from fractions import Fraction

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import compared, step

SINCE = 12


def evaluate(xp, x, y):
    return xp.subtract(xp.constant(Fraction(1)), step(xp, xp.subtract(x, y)))


def read(op, node):
    x, y = node.inputs
    return op.LessOrEqual(y, x) if node.op_type == "GreaterOrEqual" else op.LessOrEqual(x, y)


def write(term, context):
    return OnnxCall("LessOrEqual", term.args) if context.opset >= SINCE else None


OPERATOR = scalar_operator(
    "LessOrEqual", evaluate, 2, infer=compared, spelling=Spelling(("LessOrEqual", "GreaterOrEqual"), read, write)
)
