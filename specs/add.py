"""Element-wise addition with NumPy broadcasting."""

from taso_opt.spec import Operator, axiom, plain_spelling
from taso_opt.spec.shared.elementwise import broadcasts
from taso_opt.spec.shared.shapes import broadcast


def evaluate(xp, x, y):
    return xp.add(x, y)


OPERATOR = Operator(
    "Add",
    infer=broadcast,
    evaluate=evaluate,
    spelling=plain_spelling("Add"),
    arity=2,
    commutative=True,
    elementwise=True,
)


@axiom(*broadcasts("x", "y", "z"))
def add_is_associative(op, x: "*a", y: "*a", z: "*a"):
    return op.Add(x, op.Add(y, z)), op.Add(op.Add(x, y), z)
