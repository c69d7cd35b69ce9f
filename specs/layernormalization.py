"""Rows brought to mean 0 and variance 1; then, where given, times a scale and plus a shift for each column.

The summand of the variance, which ONNX keeps in an attribute, is the second operand.
"""

import numpy as np

from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.reductions import mean
from taso_opt.spec.shared.shapes import is_number, is_star, same_dims, same_dtype
from taso_opt.spec.shared.transcendental import power

SINCE = 17
HALF = (1, 2)


def infer(x, epsilon, *affine):
    same_dtype(x, epsilon, *affine)
    if x.rank < 1 or is_star(x.shape[-1]) or not is_number(epsilon) or len(affine) > 2:
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


def _mean(op, x, axis=-1):
    return op.ReduceMean(x, axes=(axis,))


def _deviation(op, x, epsilon, axis=-1):
    centred = op.Sub(x, _mean(op, x, axis))
    return op.Sqrt(op.Add(_mean(op, op.Mul(centred, centred), axis), epsilon))


def _channels(op, x):
    return 1 - op.type(x).rank


def _with_channels_last(op, x, epsilon, *affine):
    channels = _channels(op, x)
    rows = op.Transpose(x, perm=(*range(channels + 1, 0), channels))
    affine = (op.Reshape(each, shape=op.type(x).shape[1:2]) for each in affine)
    return op.Transpose(op.LayerNormalization(rows, epsilon, *affine), perm=(-1, *range(channels, -1)))


@definition()
def layer_normalization_by_deviations(op, x: "*b n", epsilon: ""):
    return op.LayerNormalization(x, epsilon), op.Div(op.Sub(x, _mean(op, x)), _deviation(op, x, epsilon))


@definition()
def layer_normalization_by_squares(op, x: "*b n", epsilon: ""):
    mean_ = _mean(op, x)
    variance = op.Sub(_mean(op, op.Mul(x, x)), op.Mul(mean_, mean_))
    deviation = op.Sqrt(op.Add(variance, epsilon))
    return op.LayerNormalization(x, epsilon), op.Div(op.Sub(x, mean_), deviation)


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


@definition(respelled=False)
def layer_normalization_by_one_factor(op, x: "*b n", epsilon: ""):
    factor = op.Reciprocal(_deviation(op, x, epsilon))
    return op.LayerNormalization(x, epsilon), op.Sub(op.Mul(x, factor), op.Mul(_mean(op, x), factor))


@definition(respelled=False)
def affine_layer_normalization_by_one_factor(op, x: "*b n", epsilon: "", scale: "n", shift: "n"):
    factor = op.Mul(op.Reciprocal(_deviation(op, x, epsilon)), scale)
    moved = op.Add(op.Mul(x, factor), op.Sub(shift, op.Mul(_mean(op, x), factor)))
    return op.LayerNormalization(x, epsilon, scale, shift), moved


@definition(respelled=False)
def affine_layer_normalization_by_a_negative_mean(op, x: "*b n", epsilon: "", scale: "n", shift: "n"):
    factor = op.Mul(op.Reciprocal(_deviation(op, x, epsilon)), scale)
    moved = op.Add(op.Mul(x, factor), op.Add(op.Mul(op.Neg(_mean(op, x)), factor), shift))
    return op.LayerNormalization(x, epsilon, scale, shift), moved


@definition("x: n c w")
def layer_normalization_of_channels(op, x: "n c h w", epsilon: ""):
    centred = op.Sub(x, _mean(op, x, _channels(op, x)))
    return _with_channels_last(op, x, epsilon), op.Div(centred, _deviation(op, x, epsilon, _channels(op, x)))


@definition("x: n c w; scale: c 1; shift: c 1")
def affine_layer_normalization_of_channels(op, x: "n c h w", epsilon: "", scale: "c 1 1", shift: "c 1 1"):
    (_, plain) = layer_normalization_of_channels(op, x, epsilon)
    return _with_channels_last(op, x, epsilon, scale, shift), op.Add(op.Mul(plain, scale), shift)
