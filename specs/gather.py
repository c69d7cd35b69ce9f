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
    first, *others = (place + size if place < 0 else place for place in map(int, places.reshape(-1)))
    kept = 1 + len(others)
    if others != list(range(first + 1, first + kept)) or not 0 <= first <= size - kept:
        return None
    sizes = (first, kept, size - first - kept)
    part = op.Slice(node.inputs[0], axis=axis, sizes=sizes) if kept < size else node.inputs[0]
    if places.ndim:
        return part
    at = axis + kind.rank
    return op.Reshape(part, shape=(*kind.shape[:at], *kind.shape[at + 1 :]))


SPELLING = Spelling(("Gather",), read)
