"""The matrix that makes a tile of a convolution's outputs of products; for weights only.

Of its operand, the convolution's kernel, nothing but the type counts.
"""

from taso_opt.core.types import TensorType
from taso_opt.spec import weight_operator
from taso_opt.spec.shared.interpolation import of_both_axes, of_outputs, taps_of, tensor, tile_of


def infer(f, points):
    taps = taps_of("WinogradOutput", f, points)
    return TensorType(f.dtype, (tile_of(points, taps) ** 2, len(points) ** 2))


def evaluate(xp, f, points):
    taps = xp.shape(f)[-1]
    return tensor(xp, f, of_both_axes(of_outputs(points, taps), (tile_of(points, taps) ** 2, len(points) ** 2)))


OPERATOR = weight_operator("WinogradOutput", infer, evaluate)
