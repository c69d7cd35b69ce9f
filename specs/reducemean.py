"""The mean over axes counted from the end, which stay with size 1."""

from taso_opt.spec.shared.reductions import mean, reduction


def evaluate(xp, x, axes):
    return mean(xp, x, axes)


OPERATOR = reduction("ReduceMean", evaluate, axes_are_an_input=18, gives_fractions=True)
