"""x tanh(softplus(x)), an operator of its own since opset 18."""

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.transcendental import TANH, softplus

SINCE = 18


def evaluate(xp, x):
    return xp.multiply(x, xp.apply(TANH, softplus(xp, x)))


def read(op, node):
    return op.Mish(node.inputs[0])


def write(term, context):
    return OnnxCall("Mish", term.args) if context.opset >= SINCE else None


OPERATOR = scalar_operator("Mish", evaluate, spelling=Spelling(("Mish",), read, write))
