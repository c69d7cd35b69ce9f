"""What the filters of a convolution multiply in tiles, for each product; for weights only.

The result is larger than the filters, so a file keeps these, and the runtime computes it once, as it loads the model.
"""

from taso_opt.core.types import TensorType
from taso_opt.spec import OnnxCall, weight_operator
from taso_opt.spec.shared.interpolation import of_both_axes, of_taps, taps_of, tensor

EQUATION = "tij,ocij->toc"
SINCE = 12
"""The opset that has Einsum."""


def infer(f, points):
    taps_of("WinogradKernel", f, points)
    return TensorType(f.dtype, (len(points) ** 2, *f.shape[:2]))


def evaluate(xp, f, points):
    return xp.contract(EQUATION, tensor(xp, f, _values(points, xp.shape(f)[-1])), f)


def _values(points, taps):
    return of_both_axes(of_taps(points, taps), (len(points) ** 2, taps, taps))


def write(term, context):
    (f,) = term.args
    kind = context.type_of(f)
    values = _values(term.attribute("points"), kind.shape[-1]).astype(kind.dtype)
    return OnnxCall("Einsum", (values, f), {"equation": EQUATION}) if context.opset >= SINCE else None


OPERATOR = weight_operator("WinogradKernel", infer, evaluate, write=write)
