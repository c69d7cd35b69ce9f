"""Terms that tests build, and what they ask of them."""

import numpy as np

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Const, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays


def tensor(kind, name, *shape, dtype="float32"):
    return kind(name, TensorType(dtype, shape))


def assert_same_values(op, before, after):
    """Two lists of outputs have equal values, which are not all zero, on the same random inputs and weights."""
    generator = np.random.default_rng(0)
    leaves = {
        leaf: generator.standard_normal(leaf.type.shape)
        for leaf in postorder((*before, *after))
        if isinstance(leaf, Var | Const)
    }
    numbers = {leaf: literal_value(leaf) for leaf in leaves if isinstance(leaf, Const)}
    leaves |= {leaf: np.asarray(float(number)) for leaf, number in numbers.items() if number is not None}
    sides = (evaluate_arrays(op, FloatArrays(), side, leaves) for side in (before, after))
    for old, new in zip(*sides, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-12)
        assert np.any(old)
