"""ONNX Gather at known neighbouring places is read as a Slice, reshaped where the place is a single number."""

from taso_opt.core.types import FLOATS
from taso_opt.spec import Spelling
from taso_opt.spec.shapes import axis_from_end


def read(op, node):
    kind, places = node.types[0], node.constants[1]
    if kind is None or places is None or kind.dtype not in FLOATS or places.ndim > 1 or not places.size:
        return None
    axis = axis_from_end(node.attribute("axis", 0), kind.rank)
    size = kind.shape[axis]
    if not isinstance(size, int):
        return None
    first, *others = (int(place) + size * (place < 0) for place in places.reshape(-1))
    if others != list(range(first + 1, first + len(others) + 1)) or not 0 <= first < first + len(others) + 1 <= size:
        return None
    sizes = (first, len(others) + 1, size - first - len(others) - 1)
    part = op.Slice(node.inputs[0], axis=axis, sizes=sizes) if sizes[1] < size else node.inputs[0]
    if places.ndim:
        return part
    at = axis + kind.rank
    return op.Reshape(part, shape=(*kind.shape[:at], *kind.shape[at + 1 :]))


SPELLING = Spelling(("Gather",), read)
