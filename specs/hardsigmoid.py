"""The piecewise linear sigmoid, alpha x + beta clipped to the interval from 0 to 1."""

from fractions import Fraction

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import attribute_ratio, clipped, fraction


def evaluate(xp, x, alpha, beta):
    line = xp.add(xp.scale(x, fraction(alpha)), xp.constant(fraction(beta)))
    return clipped(xp, line, Fraction(0), Fraction(1))


def read(op, node):
    alpha, beta = attribute_ratio(node, "alpha", 0.2), attribute_ratio(node, "beta", 0.5)
    return op.HardSigmoid(node.inputs[0], alpha=alpha, beta=beta)


def write(term, context):
    return OnnxCall("HardSigmoid", term.args, {name: float(fraction(value)) for name, value in term.attributes})


OPERATOR = scalar_operator(
    "HardSigmoid",
    evaluate,
    spelling=Spelling(("HardSigmoid",), read, write),
    choices=({"alpha": (1, 6), "beta": (1, 2)}, {"alpha": (1, 5), "beta": (1, 2)}),
)
