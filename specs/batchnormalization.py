"""Channels less a mean and over the root of a variance, then times a scale and plus a shift; the statistics are given.

The summand of the variance, which ONNX keeps in an attribute, is the last operand.
"""

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.shapes import is_number, is_star, same_dims, same_dtype
from taso_opt.spec.shared.transcendental import power

SINCE = 9
"""Earlier opsets also say by attributes whether there is one statistic a channel, and whether the node is trained."""

HALF = (1, 2)


def infer(x, scale, shift, mean, variance, epsilon):
    same_dtype(x, scale, shift, mean, variance, epsilon)
    if x.rank < 2 or any(map(is_star, x.shape[:2])) or not is_number(epsilon):
        raise TypeMismatch(f"expected channels and a number for BatchNormalization, found {x} and {epsilon}")
    for operand in (scale, shift, mean, variance):
        same_dims("channels of BatchNormalization", operand.shape, x.shape[1:2])
    return x


def evaluate(xp, x, scale, shift, mean, variance, epsilon):
    channels = (xp.shape(x)[1], *(1 for _ in xp.shape(x)[2:]))
    scale, shift, mean, variance = (xp.reshape(operand, channels) for operand in (scale, shift, mean, variance))
    centred = xp.divide(xp.subtract(x, mean), power(xp, xp.add(variance, epsilon), HALF))
    return xp.add(xp.multiply(centred, scale), shift)


def read(op, node):
    kind = node.types[0]
    if kind is None or node.opset < SINCE or node.output_count > 1 or node.attribute("training_mode", 0):
        return None
    epsilon = literal(fraction(attribute_ratio(node, "epsilon", 1e-5)), kind.dtype)
    return op.BatchNormalization(*node.inputs, epsilon)


def write(term, context):
    *operands, epsilon = term.args
    value = context.value_of(epsilon)
    if context.opset < SINCE or value is None:
        return None
    return OnnxCall("BatchNormalization", tuple(operands), {"epsilon": float(value)})


OPERATOR = Operator(
    "BatchNormalization",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("BatchNormalization",), read, write),
    arity=6,
    defined=True,
)


def _factors(op, scale, shift, mean, variance, epsilon):
    factor = op.Div(scale, op.Sqrt(op.Add(variance, epsilon)))
    return factor, op.Sub(shift, op.Mul(mean, factor))


@definition(respelled=False)
def batch_normalization_of_columns(op, x: "n c", scale: "c", shift: "c", mean: "c", variance: "c", epsilon: ""):
    factor, summand = _factors(op, scale, shift, mean, variance, epsilon)
    normalized = op.BatchNormalization(x, scale, shift, mean, variance, epsilon)
    return normalized, op.Add(op.Mul(x, factor), summand)


@definition("x: n c w", "x: n c d h w", respelled=False)
def batch_normalization_of_channels(op, x: "n c h w", scale: "c", shift: "c", mean: "c", variance: "c", epsilon: ""):
    channels = (symbol("c"), *(1 for _ in op.type(x).shape[2:]))
    factors = _factors(op, scale, shift, mean, variance, epsilon)
    factor, summand = (op.Reshape(each, shape=channels) for each in factors)
    normalized = op.BatchNormalization(x, scale, shift, mean, variance, epsilon)
    return normalized, op.Add(op.Mul(x, factor), summand)


@definition("x: n c w; scale: c 1; shift: c 1", respelled=False)
def batch_normalization_of_nothing(op, x: "n c h w", scale: "c 1 1", shift: "c 1 1"):
    """Where means are 0 and variances 1, it scales and shifts channels: runtimes may have a kernel for that alone."""
    scale_row, shift_row = (op.Reshape(each, shape=(symbol("c"),)) for each in (scale, shift))
    mean, variance = (op.Expand(literal(number), shape=(symbol("c"),)) for number in (0, 1))
    normalized = op.BatchNormalization(x, scale_row, shift_row, mean, variance, literal(0))
    return normalized, op.Add(op.Mul(x, scale), shift)
