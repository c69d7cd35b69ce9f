"""The sum over axes counted from the end, which stay with size 1."""

from taso_opt.spec.shared.reductions import ROWS_AND_COLUMNS, reduction, total


def evaluate(xp, x, axes):
    return total(xp, x, axes)


OPERATOR = reduction("ReduceSum", evaluate, axes_are_an_input=13, choices=ROWS_AND_COLUMNS)
