"""The sum of squares over axes counted from the end, which stay with size 1."""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import CHANNELS, ROWS_OR_COLUMNS, reduction, total


def evaluate(xp, x, axes):
    return total(xp, xp.multiply(x, x), axes)


OPERATOR = reduction("ReduceSumSquare", evaluate, axes_are_an_input=18)


@definition(axes=ROWS_OR_COLUMNS)
def sum_of_squares(op, x: "*b m n", axes):
    return _defined(op, x, axes)


@definition(axes=CHANNELS)
def sum_of_squares_of_channels(op, x: "*b c m n", axes):
    return _defined(op, x, axes)


def _defined(op, x, axes):
    return op.ReduceSumSquare(x, axes=axes), op.ReduceSum(op.Mul(x, x), axes=axes)
