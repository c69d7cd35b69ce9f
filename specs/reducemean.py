"""The mean over axes counted from the end, which stay with size 1; ONNX may drop them, which is a reshape."""

import numpy as np

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling
from taso_opt.spec.reductions import kept_shape, mean
from taso_opt.spec.shapes import axis_from_end, is_star

AXES_ARE_AN_INPUT = 18


def infer(x, axes):
    if any(not -x.rank <= axis < 0 or is_star(x.shape[axis]) for axis in axes):
        raise TypeMismatch(f"expected axes {list(axes)} of a tensor for ReduceMean, found {x}")
    return TensorType(x.dtype, kept_shape(x.shape, axes))


def evaluate(xp, x, axes):
    return mean(xp, x, axes)


def read(op, node):
    axes = node.attribute("axes", None)
    if axes is None and len(node.inputs) > 1 and node.constants[1] is not None:
        axes = [int(axis) for axis in node.constants[1]]
    if not axes:
        return None
    shape = node.types[0].shape
    found = sorted({axis_from_end(axis, len(shape)) for axis in axes})
    result = op.ReduceMean(node.inputs[0], axes=tuple(found))
    if node.attribute("keepdims", 1):
        return result
    return op.Reshape(result, shape=tuple(dim for at, dim in enumerate(shape) if at - len(shape) not in found))


def write(term, context):
    axes = list(term.attribute("axes"))
    if context.opset < AXES_ARE_AN_INPUT:
        rank = context.type_of(term.args[0]).rank
        return OnnxCall("ReduceMean", term.args, {"axes": [axis + rank for axis in axes], "keepdims": 1})
    return OnnxCall("ReduceMean", (*term.args, np.array(axes, np.int64)), {"keepdims": 1})


OPERATOR = Operator(
    "ReduceMean",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("ReduceMean",), read, write),
    arity=1,
    defined=True,
)
