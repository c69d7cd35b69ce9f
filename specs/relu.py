"""The rectified linear unit, max(x, 0)."""

import numpy as np

from taso_opt.spec import ScalarFunction
from taso_opt.spec.elementwise import unary_laws, unary_operator

RELU = ScalarFunction("relu", lambda x: np.maximum(x, 0), zero_preserving=True, idempotent=True, monotone=True)
OPERATOR = unary_operator("Relu", RELU)
AXIOMS = unary_laws("Relu", RELU)
