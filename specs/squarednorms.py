"""The sum of the squares of each row, as a column, of which distances to fixed rows are computed; for weights only."""

from taso_opt.core.types import TensorType
from taso_opt.spec import weight_operator
from taso_opt.spec.shared.shapes import check_rank


def infer(w):
    check_rank("operand of SquaredNorms", w, 2)
    return TensorType(w.dtype, (w.shape[0], 1))


def evaluate(xp, w):
    return xp.reshape(xp.contract("nk,nk->n", w, w), (xp.shape(w)[0], 1))


OPERATOR = weight_operator("SquaredNorms", infer, evaluate)
