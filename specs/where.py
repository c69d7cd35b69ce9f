"""One element where a condition holds, the other elsewhere, all three broadcast as in NumPy."""

from dataclasses import replace

from taso_opt.core.types import TRUTH
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.shapes import broadcast

SINCE = 9


def infer(condition, x, y):
    if condition.dtype != TRUTH:
        raise TypeMismatch(f"expected a condition for Where, found {condition}")
    return broadcast(replace(condition, dtype=x.dtype), broadcast(x, y))


def evaluate(xp, condition, x, y):
    return xp.add(y, xp.multiply(condition, xp.subtract(x, y)))


def read(op, node):
    return op.Where(*node.inputs)


def write(term, context):
    return OnnxCall("Where", term.args) if context.opset >= SINCE else None


OPERATOR = scalar_operator("Where", evaluate, 3, infer=infer, spelling=Spelling(("Where",), read, write))
