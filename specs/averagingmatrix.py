"""The matrix whose product with lines averages over windows of these (see averagepool.py); for weights only.

Its operand, a number for each element of a line, scales these beforehand: ones leave them as they are.
"""

from taso_opt.core.types import TensorType
from taso_opt.spec import weight_operator
from taso_opt.spec.shared.shapes import check_flag, check_pooling_pads, check_rank, window_outputs
from taso_opt.spec.shared.windows import WindowShares, padded


def infer(w, kernel, strides, pads, count_include_pad):
    check_rank("operand of AveragingMatrix", w, 1)
    check_pooling_pads(kernel, pads)
    check_flag("count_include_pad", count_include_pad)
    return TensorType(w.dtype, (*w.shape, *window_outputs(w.shape, kernel, strides, pads, (1,))))


def evaluate(xp, w, kernel, strides, pads, count_include_pad):
    (size,) = xp.shape(w)
    rows = padded(xp, xp.multiply(xp.identity(w, size), w), pads)
    shares = WindowShares((size,), kernel, strides, pads, bool(count_include_pad))
    return xp.scale(xp.sum(xp.windows(rows, kernel, strides, (1,)), (-1,)), shares)


OPERATOR = weight_operator("AveragingMatrix", infer, evaluate)
