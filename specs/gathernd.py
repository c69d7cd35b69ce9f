"""ONNX GatherND at places of one axis, each in a row of its own, is read as a Gather.

Axes of size one before that one have no other places, whatever a row says of them.
"""

from taso_opt.core.term import Apply
from taso_opt.core.types import FLOATS
from taso_opt.spec import Spelling
from taso_opt.spec.shared.places import in_shape


def read(op, node):
    kind, rows = node.types
    if kind is None or rows is None or kind.dtype not in FLOATS or node.attribute("batch_dims", 0) or not rows.rank:
        return None
    last = rows.shape[-1]
    places = _last_column(op, node.inputs[1], last)
    if not isinstance(last, int) or not 1 <= last <= kind.rank or set(kind.shape[: last - 1]) - {1} or places is None:
        return None
    behind = kind.shape[last - 1 :]
    x = node.inputs[0] if last == 1 else op.Reshape(node.inputs[0], shape=behind)
    return op.Gather(x, in_shape(op, places, rows.shape[:-1]), axis=-len(behind))


def _last_column(op, rows, count):
    """What each row says of the last axis; None where that has not been joined with the rest."""
    if count == 1:
        return rows
    is_joined = isinstance(rows, Apply) and rows.operator == "Concat" and rows.attribute("axis") == -1
    return rows.args[-1] if is_joined and op.type(rows.args[-1]).shape[-1] == 1 else None


SPELLING = Spelling(("GatherND",), read)
