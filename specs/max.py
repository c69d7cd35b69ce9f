"""The larger of two elements, with NumPy broadcasting."""

from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.piecewise import maximum, two_operands

OPERATOR = scalar_operator("Max", maximum, 2, spelling=two_operands("Max", 8), commutative=True)
