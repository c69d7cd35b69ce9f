"""max(x, 0) + alpha min(x, 0)."""

from taso_opt.core.literal import literal
from taso_opt.spec import OnnxCall, Spelling, definition
from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.piecewise import attribute_ratio, by_sign, fraction, negated, positive


def evaluate(xp, x, alpha):
    return xp.subtract(positive(xp, x), xp.scale(positive(xp, negated(xp, x)), fraction(alpha)))


def read(op, node):
    return op.LeakyRelu(node.inputs[0], alpha=attribute_ratio(node, "alpha", 0.01))


def write(term, context):
    return OnnxCall("LeakyRelu", term.args, {"alpha": float(fraction(term.attribute("alpha")))})


SLOPES = ((1, 100), (1, 10), (1, 5))
OPERATOR = scalar_operator(
    "LeakyRelu",
    evaluate,
    spelling=Spelling(("LeakyRelu",), read, write),
    choices=tuple({"alpha": alpha} for alpha in SLOPES),
)


@definition(alpha=SLOPES, respelled=False)
def leaky_relu(op, x: "*a", alpha):
    return op.LeakyRelu(x, alpha=alpha), by_sign(op, x, op.Mul(x, literal(fraction(alpha))), x)
