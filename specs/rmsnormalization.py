"""Rows divided by their root mean square, times a scale for each column where given; an operator since opset 23.

The summand of the mean, which ONNX keeps in an attribute, is the second operand.
"""

import numpy as np

from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.reductions import mean
from taso_opt.spec.shared.shapes import is_number, is_star, same_dims, same_dtype
from taso_opt.spec.shared.transcendental import power

SINCE = 23
HALF = (1, 2)


def infer(x, epsilon, *scale):
    same_dtype(x, epsilon, *scale)
    if x.rank < 1 or is_star(x.shape[-1]) or not is_number(epsilon) or len(scale) > 1:
        raise TypeMismatch(f"expected rows and a number for RMSNormalization, found {x} and {epsilon}")
    for operand in scale:
        same_dims("sizes of rows in RMSNormalization", operand.shape, x.shape[-1:])
    return x


def evaluate(xp, x, epsilon, *scale):
    square = mean(xp, xp.multiply(x, x), (-1,))
    result = xp.divide(x, power(xp, xp.add(square, epsilon), HALF))
    for operand in scale:
        result = xp.multiply(result, operand)
    return result


def read(op, node):
    kind = node.types[0]
    if kind is None or node.attribute("axis", -1) not in (-1, kind.rank - 1):
        return None
    epsilon = literal(fraction(attribute_ratio(node, "epsilon", 1e-5)), kind.dtype)
    x, *scale = node.inputs
    return op.RMSNormalization(x, epsilon, *scale)


def write(term, context):
    x, epsilon, *scale = term.args
    kind, value = context.type_of(x), context.value_of(epsilon)
    if context.opset < SINCE or value is None:
        return None
    if not scale and not isinstance(kind.shape[-1], int):
        return None
    operand = scale[0] if scale else np.ones(kind.shape[-1:], kind.dtype)
    return OnnxCall("RMSNormalization", (x, operand), {"axis": -1, "epsilon": float(value)})


OPERATOR = Operator(
    "RMSNormalization",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("RMSNormalization",), read, write),
    arity=None,
    defined=True,
)


@definition()
def rms_normalization(op, x: "*b n", epsilon: ""):
    square = op.ReduceMean(op.Mul(x, x), axes=(-1,))
    return op.RMSNormalization(x, epsilon), op.Div(x, op.Sqrt(op.Add(square, epsilon)))


@definition()
def rms_normalization_scales(op, x: "*b n", epsilon: "", scale: "n"):
    return op.RMSNormalization(x, epsilon, scale), op.Mul(op.RMSNormalization(x, epsilon), scale)
