"""Clipping to an interval with constant ends, either of which may be missing; with others a node is read as Clamp."""

import numpy as np

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import clipped, fraction, ratio

WITH_INPUTS = 11
"""Before this opset the ends are attributes."""

NONE = ()
"""A missing end."""


def evaluate(xp, x, low, high):
    ends = (None if end == NONE else fraction(end) for end in (low, high))
    return clipped(xp, x, *ends)


def read(op, node):
    if node.opset < WITH_INPUTS:
        ends = [node.attribute("min", None), node.attribute("max", None)]
        ends = [None if end is None or abs(end) > 3e38 else end for end in ends]
    else:
        ends = [None, None]
        for at, operand in enumerate(node.inputs[1:3]):
            if operand is not None and node.constants[at + 1] is None:
                return op.Clamp(*node.inputs) if len(node.inputs) == 3 and None not in node.inputs else None
            ends[at] = node.constants[at + 1] if operand is not None else None
    low, high = (NONE if end is None else ratio(end) for end in ends)
    if low and high and fraction(low) > fraction(high):
        return None
    return op.Clip(node.inputs[0], low=low, high=high)


def write(term, context):
    ends = [None if (end := term.attribute(name)) == NONE else float(fraction(end)) for name in ("low", "high")]
    if context.opset < WITH_INPUTS:
        given = {name: end for name, end in zip(("min", "max"), ends, strict=True) if end is not None}
        return OnnxCall("Clip", term.args, given)
    dtype = context.type_of(term.args[0]).dtype
    return OnnxCall("Clip", (*term.args, *(None if end is None else np.array(end, dtype) for end in ends)))


OPERATOR = scalar_operator(
    "Clip",
    evaluate,
    spelling=Spelling(("Clip",), read, write),
    choices=({"low": (0, 1), "high": (6, 1)}, {"low": (0, 1), "high": (1, 1)}),
)
