"""Groups of channels brought to mean 0 and variance 1, then each channel times a scale and plus a shift.

The summand of the variance, which ONNX keeps in an attribute, is the last operand. What ONNX had under this name before
opset 21 is deprecated there.
"""

from taso_opt.core.dims import divide, product, symbol
from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.reductions import mean
from taso_opt.spec.shared.shapes import is_number, is_star, same_dims, same_dtype
from taso_opt.spec.shared.transcendental import power

SINCE = 21
HALF = (1, 2)


def infer(x, scale, shift, epsilon, groups):
    same_dtype(x, scale, shift, epsilon)
    if x.rank < 3 or any(map(is_star, x.shape)) or not is_number(epsilon):
        raise TypeMismatch(f"expected an image and a number for GroupNormalization, found {x} and {epsilon}")
    if divide(x.shape[1], groups) * groups != x.shape[1]:
        raise TypeMismatch(f"expected channels that {groups} groups divide for GroupNormalization, found {x}")
    for operand in (scale, shift):
        same_dims("channels of GroupNormalization", operand.shape, x.shape[1:2])
    return x


def evaluate(xp, x, scale, shift, epsilon, groups):
    batch, channels, *pixels = xp.shape(x)
    rows = xp.reshape(x, (batch, groups, divide(product((channels, *pixels)), groups)))
    centred = xp.subtract(rows, mean(xp, rows, (-1,)))
    variance = mean(xp, xp.multiply(centred, centred), (-1,))
    normalized = xp.divide(centred, power(xp, xp.add(variance, epsilon), HALF))
    factor, summand = (xp.reshape(each, (channels, *(1 for _ in pixels))) for each in (scale, shift))
    return xp.add(xp.multiply(xp.reshape(normalized, (batch, channels, *pixels)), factor), summand)


def read(op, node):
    kind = node.types[0]
    if kind is None:
        return None
    epsilon = literal(fraction(attribute_ratio(node, "epsilon", 1e-5)), kind.dtype)
    return op.GroupNormalization(*node.inputs, epsilon, groups=node.attribute("num_groups", 1))


def write(term, context):
    *operands, epsilon = term.args
    value = context.value_of(epsilon)
    if context.opset < SINCE or value is None:
        return None
    groups = {"num_groups": term.attribute("groups")}
    return OnnxCall("GroupNormalization", tuple(operands), {"epsilon": float(value), **groups})


OPERATOR = Operator(
    "GroupNormalization",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("GroupNormalization",), read, write),
    arity=4,
    defined=True,
)


@definition("x: n g*c w", respelled=False)
def group_normalization(op, x: "n g*c h w", scale: "g*c", shift: "g*c", epsilon: ""):
    kind, g = op.type(x), symbol("g")
    channels = (kind.shape[1], *(1 for _ in kind.shape[2:]))
    apart = op.Reshape(x, shape=(symbol("n"), g, divide(product(kind.shape[1:]), g)))
    normalized = op.Reshape(op.InstanceNormalization(apart, epsilon), shape=kind.shape)
    factor, summand = (op.Reshape(each, shape=channels) for each in (scale, shift))
    groups = op.GroupNormalization(x, scale, shift, epsilon, groups=g)
    return groups, op.Add(op.Mul(normalized, factor), summand)
