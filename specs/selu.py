"""gamma times x above zero and gamma times alpha (exp(x) - 1) below, with the constants of ONNX."""

from taso_opt.core.literal import literal
from taso_opt.spec import OnnxCall, Spelling, definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction, ratio
from taso_opt.spec.shared.transcendental import elu

ALPHA, GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
USUAL = {"alpha": ratio(ALPHA), "gamma": ratio(GAMMA)}


def evaluate(xp, x, alpha, gamma):
    return xp.scale(elu(xp, x, fraction(alpha)), fraction(gamma))


def read(op, node):
    alpha, gamma = attribute_ratio(node, "alpha", ALPHA), attribute_ratio(node, "gamma", GAMMA)
    return op.Selu(node.inputs[0], alpha=alpha, gamma=gamma)


def write(term, context):
    return OnnxCall("Selu", term.args, {name: float(fraction(value)) for name, value in term.attributes})


OPERATOR = scalar_operator("Selu", evaluate, spelling=Spelling(("Selu",), read, write), choices=(USUAL,))


@definition(respelled=False)
def selu(op, x: "*a"):
    alpha, gamma = (literal(fraction(value)) for value in USUAL.values())
    return op.Selu(x, **USUAL), op.Mul(op.ScaledElu(x, alpha), gamma)
