"""Clipping to an interval whose ends are operands, so that a rule binds them; what lies beyond both gets the high one.

ONNX says Clip, and a node of that whose ends are not constant is read as this one; else they are attributes.
"""

import numpy as np

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import maximum, minimum

WITH_INPUTS = 11
"""Before this opset the ends are attributes."""


def evaluate(xp, x, low, high):
    return minimum(xp, maximum(xp, x, low), high)


def write(term, context):
    x, *ends = term.args
    values = [context.value_of(end) for end in ends]
    if context.opset < WITH_INPUTS:
        if None in values:
            return None
        return OnnxCall("Clip", (x,), dict(zip(("min", "max"), map(float, values), strict=True)))
    dtype = context.type_of(x).dtype
    numbers = (end if value is None else np.array(float(value), dtype) for end, value in zip(ends, values, strict=True))
    return OnnxCall("Clip", (x, *numbers))


OPERATOR = scalar_operator("Clamp", evaluate, 3, numbers=True, spelling=Spelling((), lambda op, node: None, write))
