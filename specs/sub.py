"""Element-wise subtraction with NumPy broadcasting."""

from taso_opt.spec import Operator, axiom, plain_spelling
from taso_opt.spec.shapes import broadcast


def evaluate(xp, x, y):
    return xp.subtract(x, y)


OPERATOR = Operator("Sub", infer=broadcast, evaluate=evaluate, spelling=plain_spelling("Sub"), arity=2)


@axiom("x: *b n; y: *b n; z: n", "x: *a; y: *a; z: ")
def subtracting_undoes_adding(op, x: "*a", y: "*a", z: "*a"):
    return op.Add(op.Sub(x, z), op.Add(y, z)), op.Add(x, y)
