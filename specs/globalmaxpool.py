"""The greatest element of every channel of an image over all of its spatial axes, which stay with size 1."""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import global_pool, greatest, pixels


def evaluate(xp, x):
    return greatest(xp, x, pixels(len(xp.shape(x))))


OPERATOR = global_pool("GlobalMaxPool", evaluate)


@definition("x: n c h", "x: n c d h w")
def global_max_pool(op, x: "n c h w"):
    return op.GlobalMaxPool(x), op.ReduceMax(x, axes=pixels(op.type(x).rank))
