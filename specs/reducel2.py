"""The root of the sum of squares over axes counted from the end, which stay with size 1."""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import CHANNELS, ROWS_OR_COLUMNS, reduction, total
from taso_opt.spec.shared.transcendental import power

HALF = (1, 2)


def evaluate(xp, x, axes):
    return power(xp, total(xp, xp.multiply(x, x), axes), HALF)


OPERATOR = reduction("ReduceL2", evaluate, axes_are_an_input=18, gives_fractions=True)


@definition(axes=ROWS_OR_COLUMNS)
def root_of_sum_of_squares(op, x: "*b m n", axes):
    return _defined(op, x, axes)


@definition(axes=CHANNELS)
def root_of_sum_of_squares_of_channels(op, x: "*b c m n", axes):
    return _defined(op, x, axes)


def _defined(op, x, axes):
    return op.ReduceL2(x, axes=axes), op.Sqrt(op.ReduceSum(op.Mul(x, x), axes=axes))
