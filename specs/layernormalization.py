"""Rows brought to mean 0 and variance 1; then, where given, times a scale and plus a shift for each column.

The summand of the variance, which ONNX keeps in an attribute, is the second operand.
"""

import numpy as np

from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.piecewise import attribute_ratio, fraction
from taso_opt.spec.reductions import mean
from taso_opt.spec.shapes import is_number, same_dims, same_dtype
from taso_opt.spec.transcendental import power

SINCE = 17
HALF = (1, 2)


def infer(x, epsilon, *affine):
    same_dtype(x, epsilon, *affine)
    if x.rank < 1 or not is_number(epsilon) or len(affine) > 2:
        raise TypeMismatch(f"expected rows and a number for LayerNormalization, found {x} and {epsilon}")
    for operand in affine:
        same_dims("sizes of rows in LayerNormalization", operand.shape, x.shape[-1:])
    return x


def evaluate(xp, x, epsilon, *affine):
    centred = xp.subtract(x, mean(xp, x, (-1,)))
    variance = mean(xp, xp.multiply(centred, centred), (-1,))
    result = xp.divide(centred, power(xp, xp.add(variance, epsilon), HALF))
    for combine, operand in zip((xp.multiply, xp.add)[: len(affine)], affine, strict=True):
        result = combine(result, operand)
    return result


def read(op, node):
    kind = node.types[0]
    if kind is None or node.attribute("axis", -1) not in (-1, kind.rank - 1) or node.output_count > 1:
        return None
    epsilon = literal(fraction(attribute_ratio(node, "epsilon", 1e-5)), kind.dtype)
    x, *affine = (operand for operand in node.inputs if operand is not None)
    return op.LayerNormalization(x, epsilon, *affine)


def write(term, context):
    x, epsilon, *affine = term.args
    kind, value = context.type_of(x), context.value_of(epsilon)
    if context.opset < SINCE or value is None:
        return None
    if not affine and not isinstance(kind.shape[-1], int):
        return None
    operands = affine or [np.ones(kind.shape[-1:], kind.dtype)]
    return OnnxCall("LayerNormalization", (x, *operands), {"axis": -1, "epsilon": float(value)})


OPERATOR = Operator(
    "LayerNormalization",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("LayerNormalization",), read, write),
    arity=None,
    defined=True,
)


def _normalized(op, x, variance, epsilon):
    return op.Div(op.Sub(x, op.ReduceMean(x, axes=(-1,))), op.Sqrt(op.Add(variance, epsilon)))


@definition()
def layer_normalization_by_deviations(op, x: "*b n", epsilon: ""):
    centred = op.Sub(x, op.ReduceMean(x, axes=(-1,)))
    variance = op.ReduceMean(op.Mul(centred, centred), axes=(-1,))
    return op.LayerNormalization(x, epsilon), _normalized(op, x, variance, epsilon)


@definition()
def layer_normalization_by_squares(op, x: "*b n", epsilon: ""):
    mean_ = op.ReduceMean(x, axes=(-1,))
    variance = op.Sub(op.ReduceMean(op.Mul(x, x), axes=(-1,)), op.Mul(mean_, mean_))
    return op.LayerNormalization(x, epsilon), _normalized(op, x, variance, epsilon)


@definition()
def layer_normalization_scales(op, x: "*b n", epsilon: "", scale: "n"):
    return op.LayerNormalization(x, epsilon, scale), op.Mul(op.LayerNormalization(x, epsilon), scale)


@definition()
def layer_normalization_shifts(op, x: "*b n", epsilon: "", scale: "n", shift: "n"):
    return op.LayerNormalization(x, epsilon, scale, shift), op.Add(op.LayerNormalization(x, epsilon, scale), shift)


@definition()
def affine_layer_normalization_by_deviations(op, x: "*b n", epsilon: "", scale: "n", shift: "n"):
    (_, plain) = layer_normalization_by_deviations(op, x, epsilon)
    return op.LayerNormalization(x, epsilon, scale, shift), op.Add(op.Mul(plain, scale), shift)


@definition()
def affine_layer_normalization_by_squares(op, x: "*b n", epsilon: "", scale: "n", shift: "n"):
    (_, plain) = layer_normalization_by_squares(op, x, epsilon)
    return op.LayerNormalization(x, epsilon, scale, shift), op.Add(op.Mul(plain, scale), shift)
