"""Element-wise multiplication with NumPy broadcasting."""

from taso_opt.spec import Operator, axiom, plain_spelling
from taso_opt.spec.shared.elementwise import broadcasts
from taso_opt.spec.shared.shapes import broadcast


def evaluate(xp, x, y):
    return xp.multiply(x, y)


OPERATOR = Operator(
    "Mul",
    infer=broadcast,
    evaluate=evaluate,
    spelling=plain_spelling("Mul"),
    arity=2,
    commutative=True,
    elementwise=True,
)


@axiom(*broadcasts("x", "y", "z"))
def mul_is_associative(op, x: "*a", y: "*a", z: "*a"):
    return op.Mul(x, op.Mul(y, z)), op.Mul(op.Mul(x, y), z)


@axiom(*broadcasts("x", "y", "z"))
def mul_distributes_over_add(op, x: "*a", y: "*a", z: "*a"):
    return op.Mul(op.Add(x, y), z), op.Add(op.Mul(x, z), op.Mul(y, z))


@axiom(*broadcasts("x", "y", "z"))
def mul_distributes_over_sub(op, x: "*a", y: "*a", z: "*a"):
    return op.Mul(op.Sub(x, y), z), op.Sub(op.Mul(x, z), op.Mul(y, z))
