"""Element-wise subtraction with NumPy broadcasting."""

from taso_opt.spec import Operator, axiom, plain_spelling
from taso_opt.spec.shared.elementwise import broadcasts
from taso_opt.spec.shared.shapes import broadcast


def evaluate(xp, x, y):
    return xp.subtract(x, y)


OPERATOR = Operator(
    "Sub", infer=broadcast, evaluate=evaluate, spelling=plain_spelling("Sub"), arity=2, elementwise=True
)


@axiom(*broadcasts("x", "y", "z"))
def subtracting_twice(op, x: "*a", y: "*a", z: "*a"):
    return op.Sub(op.Sub(x, y), z), op.Sub(x, op.Add(y, z))


@axiom(*broadcasts("x", "y", "z"))
def subtracting_a_difference(op, x: "*a", y: "*a", z: "*a"):
    return op.Sub(x, op.Sub(y, z)), op.Add(op.Sub(x, y), z)


@axiom(*broadcasts("x", "y", "z"))
def adding_a_difference(op, x: "*a", y: "*a", z: "*a"):
    return op.Add(x, op.Sub(y, z)), op.Sub(op.Add(x, y), z)


@axiom("x: *b n; y: n", "x: *b n; y: *b 1", "x: *b l m n; y: l 1 1", "y: ")
def subtracting_undoes_adding(op, x: "*a", y: "*a"):
    return op.Sub(op.Add(x, y), y), x


@axiom("x: *b n; y: n", "x: *b n; y: *b 1", "x: *b l m n; y: l 1 1", "y: ")
def adding_undoes_subtracting(op, x: "*a", y: "*a"):
    return op.Add(op.Sub(x, y), y), x


@axiom()
def subtracting_from_itself_undoes_subtracting(op, x: "*a", y: "*a"):
    return op.Sub(x, op.Sub(x, y)), y
