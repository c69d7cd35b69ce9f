"""What lies along an axis at each of some places; the axis counts from the end, and places may have any shape.

Known neighbouring places are read as a Slice, reshaped where the place is a single number. All that rules need to know
of other places is that a number names one, so that they are variables of a type of their own.
"""

from taso_opt.core.types import FLOATS, REAL, TRUTH, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling
from taso_opt.spec.shared.shapes import axis_from_end, is_star


def infer(x, places, axis):
    if not -x.rank <= axis < 0 or any(is_star(dim) for dim in x.shape[axis:]):
        raise TypeMismatch(f"expected a tensor with axis {axis} for Gather, found {x}")
    if places.dtype in (*FLOATS, REAL, TRUTH):
        raise TypeMismatch(f"expected whole numbers as places for Gather, found {places}")
    at = axis + x.rank
    return TensorType(x.dtype, (*x.shape[:at], *places.shape, *x.shape[at + 1 :]))


def evaluate(xp, x, places, axis):
    return xp.gather(x, places, axis)


def read(op, node):
    kind, places = node.types[0], node.types[1]
    if kind is None or places is None or kind.dtype not in FLOATS:
        return None
    axis = axis_from_end(node.attribute("axis", 0), kind.rank)
    known = node.constants[1]
    if known is not None and not _are_there(kind.shape[axis], known):
        return None
    part = None if known is None or known.ndim > 1 or not known.size else _part(op, node.inputs[0], kind, axis, known)
    return op.Gather(*node.inputs, axis=axis) if part is None else part


def _are_there(size, places):
    """Whether an axis has all of some places, as far as its size is known."""
    return not isinstance(size, int) or bool(((-size <= places) & (places < size)).all())


def _part(op, x, kind, axis, places):
    """Neighbours in order as a slice; None for other places."""
    size = kind.shape[axis]
    sizes = _between(size, [int(place) for place in places.reshape(-1)])
    if sizes is None:
        return None
    part = op.Slice(x, axis=axis, sizes=sizes) if sizes[1] != size else x
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


def write(term, context):
    axis = term.attribute("axis") + context.type_of(term.args[0]).rank
    return OnnxCall("Gather", term.args, {"axis": axis} if axis else {})


OPERATOR = Operator(
    "Gather",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Gather",), read, write, in_many_ways=True),
    arity=2,
    arithmetic=False,
    defined=True,
)
