"""Matrix multiplication of the last two axes, leading axes broadcast (ONNX MatMul on ranks of at least 2)."""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Operator, axiom, plain_spelling
from taso_opt.spec.shapes import broadcast_shapes, same_dims, same_dtype


def infer(x, y):
    if x.rank < 2 or y.rank < 2:
        raise TypeMismatch(f"expected matrices for MatMul, found shapes {x} and {y}")
    same_dims("inner sizes of MatMul", x.shape[-1:], y.shape[-2:-1])
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return TensorType(same_dtype(x, y), (*batch, x.shape[-2], y.shape[-1]))


def evaluate(xp, x, y):
    return xp.contract("...mk,...kn->...mn", x, y)


OPERATOR = Operator("MatMul", infer=infer, evaluate=evaluate, spelling=plain_spelling("MatMul"), arity=2)


@axiom("y: k n; z: n p", "z: n p")
def matmul_is_associative(op, x: "*b m k", y: "*b k n", z: "*b n p"):
    return op.MatMul(x, op.MatMul(y, z)), op.MatMul(op.MatMul(x, y), z)


@axiom("y: k n; z: k n")
def matmul_distributes_over_add_on_the_right(op, x: "*b m k", y: "*b k n", z: "*b k n"):
    return op.MatMul(x, op.Add(y, z)), op.Add(op.MatMul(x, y), op.MatMul(x, z))


@axiom("z: k n")
def matmul_distributes_over_add_on_the_left(op, x: "*b m k", y: "*b m k", z: "*b k n"):
    return op.MatMul(op.Add(x, y), z), op.Add(op.MatMul(x, z), op.MatMul(y, z))


@axiom("y: k n; z: k n")
def matmul_distributes_over_sub_on_the_right(op, x: "*b m k", y: "*b k n", z: "*b k n"):
    return op.MatMul(x, op.Sub(y, z)), op.Sub(op.MatMul(x, y), op.MatMul(x, z))


@axiom("z: k n")
def matmul_distributes_over_sub_on_the_left(op, x: "*b m k", y: "*b m k", z: "*b k n"):
    return op.MatMul(op.Sub(x, y), z), op.Sub(op.MatMul(x, z), op.MatMul(y, z))


@axiom("y: k n")
def scalar_leaves_left_factor(op, x: "*b m k", y: "*b k n", s: ""):
    return op.MatMul(op.Mul(x, s), y), op.Mul(op.MatMul(x, y), s)


@axiom("y: k n; s: ", "y: k n", "s: ")
def scale_of_columns_leaves_right_factor(op, x: "*b m k", y: "*b k n", s: "n"):
    return op.MatMul(x, op.Mul(y, s)), op.Mul(op.MatMul(x, y), s)


@axiom("z: k n")
def matmul_of_stacked_rows(op, x: "*b m k", y: "*b p k", z: "*b k n"):
    stacked = op.Concat(op.MatMul(x, z), op.MatMul(y, z), axis=-2)
    return stacked, op.MatMul(op.Concat(x, y, axis=-2), z)


@axiom("y: k n; z: k p")
def matmul_of_joined_columns(op, x: "*b m k", y: "*b k n", z: "*b k p"):
    joined = op.Concat(op.MatMul(x, y), op.MatMul(x, z), axis=-1)
    return joined, op.MatMul(x, op.Concat(y, z, axis=-1))


@axiom("y: k n; w: l n")
def sum_of_matmuls_is_one(op, x: "*b m k", y: "*b k n", z: "*b m l", w: "*b l n"):
    inner = op.MatMul(op.Concat(x, z, axis=-1), op.Concat(y, w, axis=-2))
    return inner, op.Add(op.MatMul(x, y), op.MatMul(z, w))
