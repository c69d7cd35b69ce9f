"""ONNX Gather at known neighbouring places is read as a Slice, reshaped where the place is a single number."""

from taso_opt.core.types import FLOATS
from taso_opt.spec import Spelling
from taso_opt.spec.shared.shapes import axis_from_end


def read(op, node):
    kind, places = node.types[0], node.constants[1]
    if kind is None or places is None or kind.dtype not in FLOATS or places.ndim > 1 or not places.size:
        return None
    axis = axis_from_end(node.attribute("axis", 0), kind.rank)
    size = kind.shape[axis]
    sizes = _between(size, [int(place) for place in places.reshape(-1)])
    if sizes is None:
        return None
    part = op.Slice(node.inputs[0], axis=axis, sizes=sizes) if sizes[1] != size else node.inputs[0]
    if places.ndim:
        return part
    at = axis + kind.rank
    return op.Reshape(part, shape=(*kind.shape[:at], *kind.shape[at + 1 :]))


def _between(size, places):
    """What is before, of and behind the places, None where they are not neighbours in order.

    Of a size that only a run knows the places say how small it cannot be.
    """
    if isinstance(size, int):
        places = [place + size if place < 0 else place for place in places]
        if min(places) < 0:
            return None
    first, last, kept = places[0], places[-1], len(places)
    if places != list(range(first, first + kept)) or first < 0 <= last:
        return None
    before, behind = (first, size - last - 1) if first >= 0 else (size + first, -1 - last)
    return None if any(isinstance(one, int) and one < 0 for one in (before, behind)) else (before, kept, behind)


SPELLING = Spelling(("Gather",), read)
