"""The square matrix whose product with another returns that (the paper's Imatmul, Table 2.1); for weights only."""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import axiom, weight_operator


def infer(w):
    if w.rank != 2 or w.shape[0] != w.shape[1]:
        raise TypeMismatch(f"expected a square matrix for IdentityMatrix, found {w}")
    return TensorType(w.dtype, w.shape)


def evaluate(xp, w):
    return xp.identity(w, xp.shape(w)[0])


OPERATOR = weight_operator("IdentityMatrix", infer, evaluate, choices={"identity": ({},)}, defined=False)


@axiom()
def matmul_with_identity_matrix_on_the_right(op, x: "*b m n", w: "n n"):
    return op.MatMul(x, op.IdentityMatrix(w)), x


@axiom()
def matmul_with_identity_matrix_on_the_left(op, x: "*b m n", w: "m m"):
    return op.MatMul(op.IdentityMatrix(w), x), x
