"""The greatest element over axes counted from the end, which stay with size 1."""

from taso_opt.spec.shared.reductions import greatest, reduction


def evaluate(xp, x, axes):
    return greatest(xp, x, axes)


OPERATOR = reduction("ReduceMax", evaluate, axes_are_an_input=18)
