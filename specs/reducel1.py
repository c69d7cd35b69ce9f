"""The sum of absolute values over axes counted from the end, which stay with size 1."""

from taso_opt.spec import definition
from taso_opt.spec.shared.piecewise import magnitude
from taso_opt.spec.shared.reductions import CHANNELS, ROWS_OR_COLUMNS, reduction, total


def evaluate(xp, x, axes):
    return total(xp, magnitude(xp, x), axes)


OPERATOR = reduction("ReduceL1", evaluate, axes_are_an_input=18)


@definition(axes=ROWS_OR_COLUMNS)
def sum_of_magnitudes(op, x: "*b m n", axes):
    return _defined(op, x, axes)


@definition(axes=CHANNELS)
def sum_of_magnitudes_of_channels(op, x: "*b c m n", axes):
    return _defined(op, x, axes)


def _defined(op, x, axes):
    return op.ReduceL1(x, axes=axes), op.ReduceSum(op.Abs(x), axes=axes)
