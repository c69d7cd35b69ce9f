"""Every channel of an image brought to mean 0 and variance 1; then, where given, times a scale and plus a shift.

The summand of the variance, which ONNX keeps in an attribute, is the second operand.
"""

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.reductions import mean, pixels
from taso_opt.spec.shared.shapes import is_number, is_star, same_dims, same_dtype
from taso_opt.spec.shared.transcendental import power

HALF = (1, 2)


def infer(x, epsilon, *affine):
    same_dtype(x, epsilon, *affine)
    if x.rank < 3 or any(map(is_star, x.shape)) or not is_number(epsilon) or len(affine) not in (0, 2):
        raise TypeMismatch(f"expected an image and a number for InstanceNormalization, found {x} and {epsilon}")
    for operand in affine:
        same_dims("channels of InstanceNormalization", operand.shape, x.shape[1:2])
    return x


def evaluate(xp, x, epsilon, *affine):
    shape = xp.shape(x)
    axes = pixels(len(shape))
    centred = xp.subtract(x, mean(xp, x, axes))
    variance = mean(xp, xp.multiply(centred, centred), axes)
    result = xp.divide(centred, power(xp, xp.add(variance, epsilon), HALF))
    for combine, operand in zip((xp.multiply, xp.add)[: len(affine)], affine, strict=True):
        result = combine(result, xp.reshape(operand, (shape[1], *(1 for _ in axes))))
    return result


def read(op, node):
    kind = node.types[0]
    if kind is None:
        return None
    x, scale, shift = node.inputs
    epsilon = literal(fraction(attribute_ratio(node, "epsilon", 1e-5)), kind.dtype)
    return op.InstanceNormalization(x, epsilon, scale, shift)


def write(term, context):
    x, epsilon, *affine = term.args
    kind, value = context.type_of(x), context.value_of(epsilon)
    if value is None or not (affine or isinstance(kind.shape[1], int)):
        return None
    channels = kind.shape[1:2]
    operands = affine or [np.ones(channels, kind.dtype), np.zeros(channels, kind.dtype)]
    return OnnxCall("InstanceNormalization", (x, *operands), {"epsilon": float(value)})


OPERATOR = Operator(
    "InstanceNormalization",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("InstanceNormalization",), read, write),
    arity=None,
    defined=True,
)


def _normalized(op, x, variance, epsilon):
    return op.Div(op.Sub(x, _mean(op, x)), op.Sqrt(op.Add(variance, epsilon)))


def _mean(op, x):
    return op.ReduceMean(x, axes=pixels(op.type(x).rank))


@definition("x: n c w")
def instance_normalization_by_deviations(op, x: "n c h w", epsilon: ""):
    centred = op.Sub(x, _mean(op, x))
    normalized = _normalized(op, x, _mean(op, op.Mul(centred, centred)), epsilon)
    return op.InstanceNormalization(x, epsilon), normalized


@definition("x: n c w")
def instance_normalization_by_squares(op, x: "n c h w", epsilon: ""):
    mean_ = _mean(op, x)
    variance = op.Sub(_mean(op, op.Mul(x, x)), op.Mul(mean_, mean_))
    return op.InstanceNormalization(x, epsilon), _normalized(op, x, variance, epsilon)


@definition("x: n c w", respelled=False)
def instance_normalization_scales_and_shifts(op, x: "n c h w", epsilon: "", scale: "c", shift: "c"):
    channels = (symbol("c"), *(1 for _ in op.type(x).shape[2:]))
    factor, summand = (op.Reshape(each, shape=channels) for each in (scale, shift))
    affine = op.Add(op.Mul(op.InstanceNormalization(x, epsilon), factor), summand)
    return op.InstanceNormalization(x, epsilon, scale, shift), affine


@definition()
def instance_normalization_of_lines(op, x: "n c w", epsilon: ""):
    return op.InstanceNormalization(x, epsilon), op.LayerNormalization(x, epsilon)


@definition(respelled=False)
def scaled_instance_normalization_by_one_factor(op, x: "n c h w", epsilon: "", scale: "c 1 1", shift: "c 1 1"):
    mean_ = _mean(op, x)
    centred = op.Sub(x, mean_)
    deviation = op.Sqrt(op.Add(_mean(op, op.Mul(centred, centred)), epsilon))
    factor = op.Mul(op.Reciprocal(deviation), scale)
    affine = op.Add(op.Mul(op.InstanceNormalization(x, epsilon), scale), shift)
    return affine, op.Add(op.Mul(x, factor), op.Sub(shift, op.Mul(mean_, factor)))
