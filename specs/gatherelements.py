"""ONNX GatherElements of whole rows, where each place is repeated for all elements of a row, is read as a Gather."""

from taso_opt.core.types import FLOATS
from taso_opt.spec import Spelling
from taso_opt.spec.shared.places import before_expanding, in_shape
from taso_opt.spec.shared.shapes import axis_from_end

ROWS = -2


def read(op, node):
    kind, wanted = node.types
    if kind is None or wanted is None or kind.dtype not in FLOATS or kind.rank != wanted.rank or kind.rank < -ROWS:
        return None
    *batch, _, columns = kind.shape
    *others, count, width = wanted.shape
    places = before_expanding(node.inputs[1])
    is_of_rows = axis_from_end(node.attribute("axis", 0), kind.rank) == ROWS and width == columns
    if not is_of_rows or {*batch, *others} - {1} or op.type(places).shape[-1:] != (1,):
        return None
    return op.Gather(node.inputs[0], in_shape(op, places, (count,)), axis=ROWS)


SPELLING = Spelling(("GatherElements",), read)
