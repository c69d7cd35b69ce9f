"""Powers with one constant, rational exponent."""

import numpy as np

from taso_opt.core.types import FRACTIONS
from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import fraction, ratio
from taso_opt.spec.shared.transcendental import power

EXPONENTS = (
    *((2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (8, 1), (-1, 1), (-2, 1), (-3, 1)),
    *((1, 2), (3, 2), (5, 2), (-1, 2), (-3, 2), (1, 4), (3, 4)),
)
"""What the enumeration looks for other words for."""


def evaluate(xp, x, exponent):
    return power(xp, x, exponent)


def read(op, node):
    value = node.constants[1]
    if value is None or value.size != 1 or value.ndim > node.types[0].rank:
        return None
    if node.types[0].dtype == "float64":
        value = value.astype(np.float64)  # what is a simple ratio in float32 may be none here
    exponent = ratio(value)
    if exponent == (1, 1):
        return node.inputs[0]
    if fraction(exponent).denominator > 1 and node.types[0].dtype not in FRACTIONS:
        return None  # of whole numbers runtimes round the power, here every root that it is made of would be rounded
    return op.Pow(node.inputs[0], exponent=exponent) if exponent[0] else None


def write(term, context):
    exponent = np.array(float(fraction(term.attribute("exponent"))), context.type_of(term.args[0]).dtype)
    return OnnxCall("Pow", (*term.args, exponent))


OPERATOR = scalar_operator(
    "Pow",
    evaluate,
    spelling=Spelling(("Pow",), read, write),
    choices=tuple({"exponent": exponent} for exponent in EXPONENTS),
)
