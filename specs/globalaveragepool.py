"""The mean of every channel of an image over all of its spatial axes, which stay with size 1."""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Operator, definition, plain_spelling
from taso_opt.spec.reductions import kept_shape, mean
from taso_opt.spec.shapes import is_star


def infer(x):
    if x.rank < 3 or any(is_star(dim) for dim in x.shape):
        raise TypeMismatch(f"expected an image for GlobalAveragePool, found {x}")
    return TensorType(x.dtype, kept_shape(x.shape, _pixels(x.rank)))


def evaluate(xp, x):
    return mean(xp, x, _pixels(len(xp.shape(x))))


def _pixels(rank):
    """The spatial axes of an image, counted from the end."""
    return tuple(range(2 - rank, 0))


OPERATOR = Operator(
    "GlobalAveragePool",
    infer=infer,
    evaluate=evaluate,
    spelling=plain_spelling("GlobalAveragePool"),
    arity=1,
    defined=True,
)


@definition("x: n c h", "x: n c d h w")
def global_average_pool(op, x: "n c h w"):
    return op.GlobalAveragePool(x), op.ReduceMean(x, axes=_pixels(op.type(x).rank))
