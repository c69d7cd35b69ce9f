"""The filters that make of a tile of an image what is multiplied with those of a convolution; for weights only.

Of its operand nothing but the type counts.
"""

from taso_opt.core.types import TensorType
from taso_opt.spec import weight_operator
from taso_opt.spec.shared.interpolation import of_both_axes, of_inputs, taps_of, tensor


def infer(f, points):
    taps_of("WinogradInput", f, points)
    size = len(points)
    return TensorType(f.dtype, (size**2, 1, size, size))


def evaluate(xp, f, points):
    size = len(points)
    return tensor(xp, f, of_both_axes(of_inputs(points), (size**2, 1, size, size)))


OPERATOR = weight_operator("WinogradInput", infer, evaluate)
