"""What each element is above the logarithm of the sum of all exponentials along one axis counted from the end."""

from taso_opt.spec import definition
from taso_opt.spec.shared.reductions import along_one_axis, log_of_sum


def evaluate(xp, x, axis):
    return xp.subtract(x, log_of_sum(xp, x, (axis,)))


OPERATOR = along_one_axis("LogSoftmax", evaluate)


@definition(axis=(-1, -2, -3))
def logarithm_of_softmax(op, x: "*b @n", axis):
    above = op.Sub(x, op.ReduceMax(x, axes=(axis,)))
    powers = op.ReduceSum(op.Exp(above), axes=(axis,))
    return op.LogSoftmax(x, axis=axis), op.Sub(above, op.Log(powers))


@definition(axis=(-1, -2, -3))
def above_the_logarithm_of_all(op, x: "*b @n", axis):
    return op.LogSoftmax(x, axis=axis), op.Sub(x, op.ReduceLogSumExp(x, axes=(axis,)))
