"""x above zero, alpha (exp(x) - 1) below; a node whose alpha is not 1 is read as ScaledElu."""

from taso_opt.core.literal import literal
from taso_opt.spec import OnnxCall, Spelling, definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import attribute_ratio, by_sign, fraction
from taso_opt.spec.shared.transcendental import elu as _elu


def evaluate(xp, x, alpha):
    return _elu(xp, x, fraction(alpha))


def read(op, node):
    alpha = attribute_ratio(node, "alpha", 1.0)
    if alpha == (1, 1) or node.types[0] is None:
        return op.Elu(node.inputs[0], alpha=alpha)
    return op.ScaledElu(node.inputs[0], literal(fraction(alpha), node.types[0].dtype))


def write(term, context):
    return OnnxCall("Elu", term.args, {"alpha": float(fraction(term.attribute("alpha")))})


OPERATOR = scalar_operator("Elu", evaluate, spelling=Spelling(("Elu",), read, write), choices=({"alpha": (1, 1)},))


@definition(respelled=False)
def elu(op, x: "*a"):
    return op.Elu(x, alpha=(1, 1)), by_sign(op, x, op.Sub(op.Exp(x), literal(1)), x)
