"""Matrix multiplication of the last two axes, leading axes broadcast (ONNX MatMul on ranks of at least 2)."""

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Operator, axiom, plain_spelling
from taso_opt.spec.shared.joining import halves
from taso_opt.spec.shared.shapes import broadcast_shapes, is_star, same_dims, same_dtype


def infer(x, y):
    if x.rank < 2 or y.rank < 2 or any(map(is_star, (x.shape[-1], *y.shape[-2:]))):
        raise TypeMismatch(f"expected matrices for MatMul, found shapes {x} and {y}")
    same_dims("inner sizes of MatMul", x.shape[-1:], y.shape[-2:-1])
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return TensorType(same_dtype(x, y), (*batch, x.shape[-2], y.shape[-1]))


def evaluate(xp, x, y):
    return xp.contract("...mk,...kn->...mn", x, y)


OPERATOR = Operator("MatMul", infer=infer, evaluate=evaluate, spelling=plain_spelling("MatMul"), arity=2)


@axiom("y: k n; z: n p", "z: n p", "x: m k; y: k n", "x: m k", "x: m k; z: n p", "y: k n")
def matmul_is_associative(op, x: "*b m k", y: "*b k n", z: "*b n p"):
    return op.MatMul(x, op.MatMul(y, z)), op.MatMul(op.MatMul(x, y), z)


@axiom("y: k n; z: k n", "x: m k")
def matmul_distributes_over_add_on_the_right(op, x: "*b m k", y: "*b k n", z: "*b k n"):
    return op.MatMul(x, op.Add(y, z)), op.Add(op.MatMul(x, y), op.MatMul(x, z))


@axiom("z: k n", "x: m k; y: m k")
def matmul_distributes_over_add_on_the_left(op, x: "*b m k", y: "*b m k", z: "*b k n"):
    return op.MatMul(op.Add(x, y), z), op.Add(op.MatMul(x, z), op.MatMul(y, z))


@axiom("y: k n; z: k n", "x: m k")
def matmul_distributes_over_sub_on_the_right(op, x: "*b m k", y: "*b k n", z: "*b k n"):
    return op.MatMul(x, op.Sub(y, z)), op.Sub(op.MatMul(x, y), op.MatMul(x, z))


@axiom("z: k n", "x: m k; y: m k")
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


@axiom("y: k n")
def scale_of_rows_leaves_left_factor(op, x: "*b m k", y: "*b k n", r: "*b m 1"):
    return op.MatMul(op.Mul(x, r), y), op.Mul(op.MatMul(x, y), r)


@axiom("y: k n; s: k 1")
def scale_between_factors(op, x: "*b m k", y: "*b k n", s: "*b k 1"):
    return op.MatMul(op.Mul(x, op.Transpose(s, perm=(-1, -2))), y), op.MatMul(x, op.Mul(y, s))


@axiom("y: n k", "x: m k")
def scale_between_a_factor_and_a_transposed_one(op, x: "*b m k", y: "*b n k", s: "k"):
    swap = (-1, -2)
    return op.MatMul(op.Mul(x, s), op.Transpose(y, perm=swap)), op.MatMul(x, op.Transpose(op.Mul(y, s), perm=swap))


@axiom("y: k n; s: k 1")
def scale_between_a_transposed_factor_and_another(op, x: "*b k m", y: "*b k n", s: "*b k 1"):
    swap = (-1, -2)
    return op.MatMul(op.Transpose(op.Mul(x, s), perm=swap), y), op.MatMul(op.Transpose(x, perm=swap), op.Mul(y, s))


@axiom()
def product_of_column_and_row(op, x: "*b m 1", y: "*b 1 n"):
    return op.MatMul(x, y), op.Mul(x, y)


@axiom("y: n k l; w: p k l", "x: n m k; z: p m k")
def matmul_of_stacked_batches(op, x: "*b n m k", y: "*b n k l", z: "*b p m k", w: "*b p k l"):
    stacked = op.Concat(op.MatMul(x, y), op.MatMul(z, w), axis=-3)
    return stacked, op.MatMul(op.Concat(x, z, axis=-3), op.Concat(y, w, axis=-3))


@axiom()
def matmul_of_batches_stacked_over_one_matrix(op, x: "*b n m k", z: "*b p m k", y: "k l"):
    stacked = op.Concat(op.MatMul(x, y), op.MatMul(z, y), axis=-3)
    return stacked, op.MatMul(op.Concat(x, z, axis=-3), y)


@axiom()
def one_matrix_times_stacked_batches(op, x: "m k", y: "*b n k l", w: "*b p k l"):
    stacked = op.Concat(op.MatMul(x, y), op.MatMul(x, w), axis=-3)
    return stacked, op.MatMul(x, op.Concat(y, w, axis=-3))


@axiom("y: n+p k l", "x: n+p m k")
def matmul_of_split_batches(op, x: "*b n+p m k", y: "*b n+p k l"):
    pairs = zip(halves(op, x, -3), halves(op, y, -3), strict=True)
    return halves(op, op.MatMul(x, y), -3), tuple(op.MatMul(u, v) for u, v in pairs)


@axiom()
def matmul_of_batches_split_over_one_matrix(op, x: "*b n+p m k", y: "k l"):
    return halves(op, op.MatMul(x, y), -3), tuple(op.MatMul(part, y) for part in halves(op, x, -3))


@axiom()
def one_matrix_times_split_batches(op, x: "m k", y: "*b n+p k l"):
    return halves(op, op.MatMul(x, y), -3), tuple(op.MatMul(x, part) for part in halves(op, y, -3))


@axiom()
def matrix_with_a_leading_one(op, x: "*b l m k", w: "1 k n"):
    return op.MatMul(x, w), op.MatMul(x, op.Reshape(w, shape=(symbol("k"), symbol("n"))))
