"""x times the share of a normal distribution below it, exactly or by tanh; an operator of its own since opset 20.

What ONNX has as constants of its own, and a decomposition as rounded ones, are operands: sqrt(1/2) in the exact form
x (1 + erf(sqrt(1/2) x)) / 2, and sqrt(2/pi) and 0.044715 in x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2.
"""

import math
from fractions import Fraction

from taso_opt.core.literal import literal
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import fraction, ratio
from taso_opt.spec.shared.shapes import is_number, same_dtype
from taso_opt.spec.shared.transcendental import ERF, TANH

SINCE = 20
CONSTANTS = {"none": (math.sqrt(1 / 2),), "tanh": (math.sqrt(2 / math.pi), 0.044715)}
ROUNDED = 1e-6
"""By what part a constant of a model may differ from ONNX's own: it is rounded, perhaps after another computation."""

HALF = Fraction(1, 2)


def infer(x, *numbers):
    same_dtype(x, *numbers)
    if len(numbers) not in (1, 2) or not all(map(is_number, numbers)):
        raise TypeMismatch(f"expected a tensor and one or two numbers for Gelu, found {x} and {len(numbers)} operands")
    return x


def evaluate(xp, x, *numbers):
    factor, *share = numbers
    if not share:
        bent = xp.apply(ERF, xp.multiply(x, factor))
    else:
        cube = xp.multiply(xp.multiply(x, x), x)
        bent = xp.apply(TANH, xp.multiply(xp.add(x, xp.multiply(cube, *share)), factor))
    return xp.multiply(xp.scale(x, HALF), xp.add(bent, xp.constant(Fraction(1))))


def read(op, node):
    kind, mode = node.types[0], node.attribute("approximate", "none")
    constants = CONSTANTS.get(mode)
    if kind is None or constants is None:
        return None
    return op.Gelu(node.inputs[0], *(literal(fraction(ratio(value)), kind.dtype) for value in constants))


def write(term, context):
    x, *numbers = term.args
    values = [context.value_of(number) for number in numbers]
    mode = "tanh" if len(numbers) > 1 else "none"
    if context.opset < SINCE or None in values:
        return None
    fits = all(math.isclose(value, own, rel_tol=ROUNDED) for value, own in zip(values, CONSTANTS[mode], strict=True))
    return OnnxCall("Gelu", (x,), {"approximate": mode}) if fits else None


OPERATOR = Operator(
    "Gelu", infer=infer, evaluate=evaluate, spelling=Spelling(("Gelu",), read, write), arity=None, defined=True
)


@definition()
def gelu(op, x: "*a", factor: ""):
    return op.Gelu(x, factor), _share(op, x, op.Erf(op.Mul(x, factor)))


@definition()
def gelu_by_tanh(op, x: "*a", factor: "", share: ""):
    cube = op.Mul(op.Mul(x, x), x)
    return op.Gelu(x, factor, share), _share(op, x, op.Tanh(op.Mul(op.Add(x, op.Mul(cube, share)), factor)))


def _share(op, x, bent):
    return op.Mul(op.Mul(x, literal(HALF)), op.Add(bent, literal(1)))
