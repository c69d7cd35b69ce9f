"""ONNX Sum is read as the additions that it is, from the first operand on; it is not an operator of its own."""

from functools import reduce

from taso_opt.spec import Spelling


def read(op, node):
    return None if None in node.inputs else reduce(op.Add, node.inputs)


SPELLING = Spelling(("Sum",), read)
