"""The matrix whose product with the rows of an image interpolates these (see interpolate.py); for weights only.

Its operand, a number for each row of the image, scales these beforehand: ones leave them as they are.
"""

from taso_opt.core.types import TensorType
from taso_opt.spec import weight_operator
from taso_opt.spec.shared.resampling import resampled
from taso_opt.spec.shared.shapes import check_rank


def infer(w, method, scale):
    check_rank("operand of InterpolationMatrix", w, 1)
    (size,) = w.shape
    return TensorType(w.dtype, (size * scale, size))


def evaluate(xp, w, method, scale):
    (size,) = xp.shape(w)
    return resampled(xp, xp.multiply(xp.identity(w, size), w), -2, method, scale)


OPERATOR = weight_operator("InterpolationMatrix", infer, evaluate)
