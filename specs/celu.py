"""x above zero, alpha (exp(x / alpha) - 1) below, for a positive alpha: another would scale what is above as well."""

from fractions import Fraction

from taso_opt.spec import OnnxCall, Spelling, definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.transcendental import elu

SINCE = 12


def evaluate(xp, x, alpha):
    factor = fraction(alpha)
    return xp.scale(elu(xp, xp.scale(x, 1 / factor), Fraction(1)), factor)


def read(op, node):
    alpha = attribute_ratio(node, "alpha", 1.0)
    return op.Celu(node.inputs[0], alpha=alpha) if alpha[0] > 0 else None


def write(term, context):
    alpha = float(fraction(term.attribute("alpha")))
    return OnnxCall("Celu", term.args, {"alpha": alpha}) if context.opset >= SINCE and alpha > 0 else None


OPERATOR = scalar_operator("Celu", evaluate, spelling=Spelling(("Celu",), read, write), choices=({"alpha": (1, 1)},))


@definition(respelled=False)
def celu(op, x: "*a"):
    return op.Celu(x, alpha=(1, 1)), op.Elu(x, alpha=(1, 1))
