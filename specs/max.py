"""The larger of two elements, with NumPy broadcasting."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import by_twos, maximum

OPERATOR = scalar_operator("Max", maximum, 2, spelling=by_twos("Max", 8), commutative=True)
