"""What is added to the products of a tile so that every output of it gets the bias of its channel; for weights only.

Of the second operand, the convolution's kernel, nothing but the type counts.
"""

from taso_opt.core.types import TensorType
from taso_opt.spec import weight_operator
from taso_opt.spec.shared.interpolation import of_both_axes, of_ones, taps_of, tensor
from taso_opt.spec.shared.shapes import check_rank, same_dims, same_dtype


def infer(bias, f, points):
    check_rank("bias for WinogradBias", bias, 1)
    taps_of("WinogradBias", f, points)
    same_dims("output channels of WinogradBias", bias.shape, f.shape[:1])
    return TensorType(same_dtype(bias, f), (bias.shape[0] * len(points) ** 2,))


def evaluate(xp, bias, f, points):
    products = len(points) ** 2
    ones = tensor(xp, f, of_both_axes((of_ones(points, xp.shape(f)[-1]),), (products, 1)))
    return xp.reshape(xp.multiply(ones, bias), (products * xp.shape(bias)[0],))


OPERATOR = weight_operator("WinogradBias", infer, evaluate, arity=2)
