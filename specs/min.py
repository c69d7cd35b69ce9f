"""The smaller of two elements, with NumPy broadcasting."""

from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import by_twos, minimum

OPERATOR = scalar_operator("Min", minimum, 2, spelling=by_twos("Min", 8), commutative=True)
