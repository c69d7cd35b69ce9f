"""ONNX Flatten is read as the Reshape to a matrix that it is."""

from taso_opt.core.dims import product
from taso_opt.spec import Spelling


def read(op, node):
    kind = node.types[0]
    if kind is None:
        return None
    at = node.attribute("axis", 1)
    at = at + kind.rank if at < 0 else at
    if not 0 <= at <= kind.rank:
        return None
    return op.Reshape(node.inputs[0], shape=(product(kind.shape[:at]), product(kind.shape[at:])))


SPELLING = Spelling(("Flatten",), read)
