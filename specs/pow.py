"""Powers with one constant exponent: the whole numbers from 1 to 4 and the halves."""

from fractions import Fraction

import numpy as np

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.piecewise import fraction, ratio
from taso_opt.spec.transcendental import SQRT

EXPONENTS = ((2, 1), (3, 1), (4, 1), (1, 2))


def evaluate(xp, x, exponent):
    power = fraction(exponent)
    result = xp.apply(SQRT, x) if power.denominator == 2 else xp.constant(Fraction(1))
    for _ in range(int(power)):
        result = xp.multiply(result, x)
    return result


def read(op, node):
    value = node.constants[1]
    if value is None or value.size != 1 or value.ndim > node.types[0].rank:
        return None
    exponent = ratio(value)
    return op.Pow(node.inputs[0], exponent=exponent) if exponent in EXPONENTS else None


def write(term, context):
    exponent = np.array(float(fraction(term.attribute("exponent"))), context.type_of(term.args[0]).dtype)
    return OnnxCall("Pow", (*term.args, exponent))


OPERATOR = scalar_operator(
    "Pow",
    evaluate,
    spelling=Spelling(("Pow",), read, write),
    choices=tuple({"exponent": exponent} for exponent in EXPONENTS),
)
