"""Whether one element is less than the other, with NumPy broadcasting; greater is less the other way round."""

from taso_opt.spec import OnnxCall, Spelling
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import compared, step


def evaluate(xp, x, y):
    return step(xp, xp.subtract(y, x))


def read(op, node):
    x, y = node.inputs
    return op.Less(y, x) if node.op_type == "Greater" else op.Less(x, y)


def write(term, context):
    return OnnxCall("Less", term.args)


OPERATOR = scalar_operator("Less", evaluate, 2, infer=compared, spelling=Spelling(("Less", "Greater"), read, write))
