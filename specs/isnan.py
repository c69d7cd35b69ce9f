"""Whether an element is not a number, of which nothing else is known: for real numbers it would always be false."""

from dataclasses import replace

import numpy as np

from taso_opt.core.types import TRUTH
from taso_opt.spec import OnnxCall, ScalarFunction, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator

IS_NAN = ScalarFunction("isnan", lambda x: np.isnan(x).astype(x.dtype))

SINCE = 9


def infer(x):
    return replace(x, dtype=TRUTH)


def evaluate(xp, x):
    return xp.apply(IS_NAN, x)


def read(op, node):
    return op.IsNaN(node.inputs[0])


def write(term, context):
    return OnnxCall("IsNaN", term.args) if context.opset >= SINCE else None


OPERATOR = scalar_operator("IsNaN", evaluate, infer=infer, spelling=Spelling(("IsNaN",), read, write))
