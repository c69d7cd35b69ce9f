"""The kernel of a convolution along one axis that takes Fourier transforms: a filter for each part of each frequency.

Of its operand, the window, only numbers are needed that are known ahead of time; for weights only.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, weight_operator
from taso_opt.spec.shared.fourier import PARTS, frequencies, waves, windowed_waves
from taso_opt.spec.shared.shapes import check_flag, check_rank


def infer(w, onesided):
    check_flag("onesided", onesided)
    check_rank("window of FourierKernel", w, 1)
    (length,) = w.shape
    if not isinstance(length, int):
        raise TypeMismatch(f"expected a window of known length for FourierKernel, found {w}")
    return TensorType(w.dtype, (frequencies(length, onesided) * PARTS, 1, length))


def evaluate(xp, w, onesided):
    found = windowed_waves(xp, w, onesided)
    count, parts, length = xp.shape(found)
    return xp.reshape(found, (count * parts, 1, length))


def write(term, context):
    (w,) = term.args
    kind = context.type_of(w)
    (length,) = kind.shape
    values = waves(length, term.attribute("onesided")).reshape(-1, 1, length)
    return OnnxCall("Mul", (values.astype(kind.dtype), w), {})


OPERATOR = weight_operator("FourierKernel", infer, evaluate, write=write)
