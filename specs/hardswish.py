"""x times its hard sigmoid with alpha 1/6 and beta 1/2, an operator of its own since opset 14."""

from fractions import Fraction

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import clipped

SINCE = 14


def evaluate(xp, x):
    line = xp.add(xp.scale(x, Fraction(1, 6)), xp.constant(Fraction(1, 2)))
    return xp.multiply(x, clipped(xp, line, Fraction(0), Fraction(1)))


def read(op, node):
    return op.HardSwish(node.inputs[0])


def write(term, context):
    return OnnxCall("HardSwish", term.args) if context.opset >= SINCE else None


OPERATOR = scalar_operator("HardSwish", evaluate, spelling=Spelling(("HardSwish",), read, write))
