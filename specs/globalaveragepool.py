"""The mean of every channel of an image over all of its spatial axes, which stay with size 1."""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import global_pool, mean, pixels


def evaluate(xp, x):
    return mean(xp, x, pixels(len(xp.shape(x))))


OPERATOR = global_pool("GlobalAveragePool", evaluate)


@definition("x: n c h", "x: n c d h w")
def global_average_pool(op, x: "n c h w"):
    return op.GlobalAveragePool(x), op.ReduceMean(x, axes=pixels(op.type(x).rank))
