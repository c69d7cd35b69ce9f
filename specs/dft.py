"""ONNX DFT of real numbers is read as a product with a matrix: a column for each part of each frequency."""

from taso_opt.core.types import FLOATS
from taso_opt.spec import Spelling
from taso_opt.spec.shared.axes import moved_axes
from taso_opt.spec.shared.fourier import PARTS, all_alike, is_small, number_of
from taso_opt.spec.shared.shapes import axis_from_end

AXIS_IS_AN_INPUT = 20


def read(op, node):
    """A node that takes all elements of a known axis; complex numbers and the way back leave it opaque."""
    kind = node.types[0]
    if kind is None or kind.dtype not in FLOATS or kind.rank < 2 or kind.shape[-1] != 1 or node.attribute("inverse", 0):
        return None
    axis = number_of(node, 2, -2) if node.opset >= AXIS_IS_AN_INPUT else node.attribute("axis", 1)
    onesided = int(bool(node.attribute("onesided", 0)))
    if axis is None:
        return None
    place = axis_from_end(axis, kind.rank)
    if place == -1:
        return None
    length = kind.shape[place]
    if not is_small(length, onesided) or number_of(node, 1, length) != length:
        return None
    order = [one for one in range(kind.rank - 1) if one - kind.rank != place] + [place + kind.rank]
    numbers = op.Squeeze(node.inputs[0], axis=-1)
    last = moved_axes(order)
    rows = op.Transpose(numbers, perm=last) if last else numbers
    kernel = op.FourierKernel(all_alike(op, length, kind.dtype), onesided=onesided)
    parts = op.type(kernel).shape[0]
    matrix = op.Transpose(op.Reshape(kernel, shape=(parts, length)), perm=(-1, -2))
    found = op.MatMul(rows, matrix)
    found = op.Reshape(found, shape=(*op.type(found).shape[:-1], parts // PARTS, PARTS))
    back = moved_axes([order.index(one) for one in range(kind.rank - 1)] + [kind.rank - 1])
    return op.Transpose(found, perm=back) if back else found


SPELLING = Spelling(("DFT",), read)
