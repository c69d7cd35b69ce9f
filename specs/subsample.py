"""Every so many rows and columns of the last two axes, from the first on: what steps of ONNX's Slice leave."""

import numpy as np

from taso_opt.core.dims import divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.shapes import FAR, is_star

STEPS_SINCE = 10
"""The opset since which Slice takes steps."""


def infer(x, strides):
    if x.rank < 2 or any(is_star(dim) for dim in x.shape[-2:]) or len(strides) != 2:
        raise TypeMismatch(f"expected rows and columns with a step each for Subsample, found {x} and {list(strides)}")
    if any(isinstance(stride, int) and stride < 1 for stride in strides):
        raise TypeMismatch(f"expected steps of at least 1 for Subsample, found {list(strides)}")
    rows, columns = (divide(size - 1, stride) + 1 for size, stride in zip(x.shape[-2:], strides, strict=True))
    return TensorType(x.dtype, (*x.shape[:-2], rows, columns))


def evaluate(xp, x, strides):
    apart = xp.windows(x, (1, 1), strides, (1, 1))
    return xp.reshape(apart, xp.shape(apart)[:-2])


def write(term, context):
    strides = term.attribute("strides")
    if context.opset < STEPS_SINCE or not all(isinstance(stride, int) for stride in strides):
        return None
    rank = context.type_of(term.args[0]).rank
    bounds = ([0, 0], [FAR, FAR], [rank - 2, rank - 1], strides)
    return OnnxCall("Slice", (*term.args, *(np.array(values, np.int64) for values in bounds)))


OPERATOR = Operator(
    "Subsample",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling((), lambda op, node: None, write),
    arity=1,
    arithmetic=False,
    defined=True,
)


@definition()
def subsample(op, x: "n c h w"):
    strides = symbol("s_h"), symbol("s_w")
    pool = {"kernel": (1, 1), "strides": strides, "pads": (0, 0, 0, 0), "count_include_pad": 0}
    return op.Subsample(x, strides=strides), op.AveragePool(x, **pool)
