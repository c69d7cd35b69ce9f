"""What lies between two places of an axis counted from the end: `sizes` says how much is before, kept and behind.

ONNX cuts several axes at once; a longer list means one cut after the other. Steps leave out rows or columns of what is
kept (`specs/subsample.py`).
"""

from functools import reduce
from operator import add

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.core.types import FLOATS, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.elementwise import CONCAT_AXES
from taso_opt.spec.shared.shapes import FAR, axis_from_end, is_star

OPERANDS_SINCE = 10
"""The opset since which ONNX takes starts, ends and axes as operands; before, as attributes."""


def infer(x, axis, sizes):
    if not -x.rank <= axis < 0 or any(is_star(dim) for dim in x.shape[axis:]):
        raise TypeMismatch(f"expected a tensor with axis {axis} for Slice, found {x}")
    if len(sizes) != 3 or any(isinstance(size, int) and size < 0 for size in sizes) or sizes[1] == 0:
        raise TypeMismatch(f"expected sizes before, of and behind what Slice keeps, found {list(sizes)}")
    if reduce(add, sizes) != x.shape[axis]:
        raise TypeMismatch(f"expected sizes that sum to {x.shape[axis]} for Slice, found {list(sizes)}")
    at = axis + x.rank
    return TensorType(x.dtype, (*x.shape[:at], sizes[1], *x.shape[at + 1 :]))


def evaluate(xp, x, axis, sizes):
    before, kept, _ = sizes
    return xp.slice(x, axis, before, before + kept)


def read(op, node):
    bounds = _bounds(node)
    if bounds is None or node.types[0] is None or node.types[0].dtype not in FLOATS:
        return None
    result, shape = node.inputs[0], node.types[0].shape
    strides = [1, 1]
    for axis, start, end, step in bounds:
        at = axis_from_end(axis, len(shape))
        if step != 1 and (at < -len(strides) or step < 1 or len(shape) < len(strides)):
            return None
        sizes = _between(shape[at], start, end)
        if sizes is None:
            return None
        if sizes:
            result = op.Slice(result, axis=at, sizes=sizes)
        if step != 1:
            strides[at] = step
    return result if strides == [1, 1] else op.Subsample(result, strides=tuple(strides))


def _bounds(node):
    """Axis, start, end and step of each cut; None where one of them is not known."""
    if node.opset < OPERANDS_SINCE:
        starts, ends = node.attribute("starts", None), node.attribute("ends", None)
        axes, steps = node.attribute("axes", None), None
    else:
        given = (*node.inputs, *(None,) * (5 - len(node.inputs)))
        known = (*node.constants, *(None,) * (5 - len(node.constants)))
        if any(operand is not None and value is None for operand, value in zip(given[1:], known[1:], strict=True)):
            return None
        starts, ends, axes, steps = known[1:]
    if starts is None or ends is None:
        return None
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    found = [tuple(map(int, bounds)) for bounds in zip(axes, starts, ends, steps, strict=True)]
    return found if len({axis for axis, *_ in found}) == len(found) else None


def _between(size, start, end):
    """What is before, kept and behind as ONNX clamps it; nothing when all is kept, None when that is not known."""
    if start == 0 and end >= FAR:
        return ()
    if not isinstance(size, int):
        return None
    start, end = (min(max(place + size if place < 0 else place, 0), size) for place in (start, end))
    if end <= start:
        return None
    return () if end - start == size else (start, end - start, size - end)


def write(term, context):
    bounds = _bounds_of(*term.attribute("sizes"))
    if bounds is None:
        return None
    starts, ends = ([place] for place in bounds)
    axes = [term.attribute("axis") + context.type_of(term.args[0]).rank]
    if context.opset < OPERANDS_SINCE:
        return OnnxCall("Slice", term.args, {"starts": starts, "ends": ends, "axes": axes})
    return OnnxCall("Slice", (*term.args, *(np.array(values, np.int64) for values in (starts, ends, axes))))


def _bounds_of(before, kept, behind):
    """Where a slice starts and ends, counted from the end where sizes ask for that; None where that is not known."""
    if isinstance(before, int) and isinstance(kept, int):
        return before, before + kept
    if not isinstance(behind, int) or not (isinstance(before, int) or isinstance(kept, int)):
        return None
    return before if isinstance(before, int) else -kept - behind, -behind if behind else FAR


OPERATOR = Operator(
    "Slice",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Slice",), read, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition(axis=CONCAT_AXES)
def slice_is_the_middle_of_a_split(op, x: "*b @n+p+q", axis):
    sizes = symbol("n"), symbol("p"), symbol("q")
    return op.Slice(x, axis=axis, sizes=sizes), op.item(op.Split(x, axis=axis, sizes=sizes), 1)
