"""Division by a power of the mean square over neighbouring channels, `reach` of them to each side, zeros beyond.

The factor and the summand of the mean, which ONNX keeps in attributes, are operands.
"""

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import attribute_ratio, fraction
from taso_opt.spec.shared.shapes import is_number, same_dtype
from taso_opt.spec.shared.transcendental import power
from taso_opt.spec.shared.windows import WindowShares


def infer(x, alpha, bias, reach, beta):
    same_dtype(x, alpha, bias)
    if x.rank != 4 or not (is_number(alpha) and is_number(bias)):
        raise TypeMismatch(f"expected an image and two numbers for LRN, found {x}, {alpha} and {bias}")
    return x


def evaluate(xp, x, alpha, bias, reach, beta):
    rank = len(xp.shape(x))
    last = (0, *range(2, rank), 1)
    back = (0, rank - 1, *range(1, rank - 1))
    channels = xp.transpose(x, last)
    squares = xp.pad(xp.multiply(channels, channels), [(reach, reach)])
    size = 2 * reach + 1
    shares = WindowShares((xp.shape(x)[1],), (size,), (1,), (reach, reach), True)
    mean = xp.scale(xp.sum(xp.windows(squares, (size,), (1,), (1,)), (-1,)), shares)
    base = xp.add(xp.multiply(alpha, xp.transpose(mean, back)), bias)
    return xp.divide(x, power(xp, base, beta))


def read(op, node):
    size, kind = node.attribute("size", 0), node.types[0]
    if size < 3 or size % 2 == 0 or kind is None:
        return None
    names = (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    alpha, beta, bias = (fraction(attribute_ratio(node, *named)) for named in names)
    numbers = literal(alpha, kind.dtype), literal(bias, kind.dtype)
    return op.LRN(node.inputs[0], *numbers, reach=size // 2, beta=(beta.numerator, beta.denominator))


def write(term, context):
    alpha, bias = map(context.value_of, term.args[1:])
    if alpha is None or bias is None:
        return None
    numbers = {"alpha": float(alpha), "beta": float(fraction(term.attribute("beta"))), "bias": float(bias)}
    return OnnxCall("LRN", term.args[:1], {"size": 2 * term.attribute("reach") + 1, **numbers})


OPERATOR = Operator(
    "LRN", infer=infer, evaluate=evaluate, spelling=Spelling(("LRN",), read, write), arity=3, defined=True
)


@definition()
def lrn(op, x: "n c h w", alpha: "", bias: ""):
    batch, channels, *image = op.type(x).shape
    reach, beta = symbol("r"), (symbol("p"), symbol("q"))
    flat, none = (1,) * len(image), (0,) * len(image)
    squares = op.Reshape(op.Mul(x, x), shape=(batch, 1, channels, *image))
    mean = op.AveragePool(
        squares,
        kernel=(2 * reach + 1, *flat),
        strides=(1, *flat),
        pads=(reach, *none, reach, *none),
        count_include_pad=1,
    )
    base = op.Add(op.Mul(op.Reshape(mean, shape=(batch, channels, *image)), alpha), bias)
    return op.LRN(x, alpha, bias, reach=reach, beta=beta), op.Div(x, op.Pow(base, exponent=beta))
