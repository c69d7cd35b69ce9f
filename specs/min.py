"""The smaller of two elements, with NumPy broadcasting."""

from taso_opt.spec.elementwise import scalar_operator
from taso_opt.spec.piecewise import minimum, two_operands

OPERATOR = scalar_operator("Min", minimum, 2, spelling=two_operands("Min", 8), commutative=True)
