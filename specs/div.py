"""Element-wise division with NumPy broadcasting."""

from taso_opt.spec.shared.elementwise import scalar_operator


def evaluate(xp, x, y):
    return xp.divide(x, y)


OPERATOR = scalar_operator("Div", evaluate, 2)
