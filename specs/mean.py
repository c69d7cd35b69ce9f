"""ONNX Mean is read as the sum of its operands, from the first on, times a constant; it is no operator of its own."""

from fractions import Fraction
from functools import reduce

from taso_opt.core.literal import literal
from taso_opt.spec import Spelling

BROADCASTS_SINCE = 8


def read(op, node):
    if None in node.inputs or node.opset < BROADCASTS_SINCE:
        return None
    share = literal(Fraction(1, len(node.inputs)), node.types[0].dtype)
    return op.Mul(reduce(op.Add, node.inputs), share)


SPELLING = Spelling(("Mean",), read)
