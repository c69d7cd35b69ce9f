"""The logarithm of the sum of exponentials over axes counted from the end, which stay with size 1.

The greatest element is taken off first, as in a softmax: the exponentials of large numbers are infinite.
"""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import CHANNELS, ROWS_OR_COLUMNS, log_of_sum, reduction

OPERATOR = reduction("ReduceLogSumExp", log_of_sum, axes_are_an_input=18, gives_fractions=True)


@definition(axes=ROWS_OR_COLUMNS)
def logarithm_of_sum_of_exponentials(op, x: "*b m n", axes):
    return _defined(op, x, axes)


@definition(axes=CHANNELS)
def logarithm_of_sum_of_exponentials_of_channels(op, x: "*b c m n", axes):
    return _defined(op, x, axes)


def _defined(op, x, axes):
    most = op.ReduceMax(x, axes=axes)
    powers = op.Exp(op.Sub(x, most))
    return op.ReduceLogSumExp(x, axes=axes), op.Add(most, op.Log(op.ReduceSum(powers, axes=axes)))
