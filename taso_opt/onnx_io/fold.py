"""Computes terms that depend on constants alone, so that a written model need not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Const, Term, postorder
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array


def fold_constant(builder: Builder, term: Term, constant: Callable[[Const], Array]) -> Array:
    """The value of a term over constants: floats are computed in float64 and rounded once, others in their own type."""
    leaves = {leaf: _value(leaf, constant) for leaf in postorder([term]) if isinstance(leaf, Const)}
    dtypes = {value.dtype for value in leaves.values()}
    assert len(dtypes) == 1, f"a constant expression has one element type, found {dtypes}"
    widened: dict[Term, Array] = {leaf: _widened(value) for leaf, value in leaves.items()}
    with np.errstate(all="ignore"):
        (value,) = evaluate_arrays(builder, FloatArrays(), [term], widened)
        return np.ascontiguousarray(value).astype(dtypes.pop(), copy=False).reshape(value.shape)


def _value(leaf: Const, constant: Callable[[Const], Array]) -> Array:
    number = literal_value(leaf)
    return constant(leaf) if number is None else np.asarray(float(number), leaf.type.dtype)


def _widened(value: Array) -> Array:
    """Floats as doubles; small integers as large ones, since meanings subtract and unsigned ones would wrap around."""
    if value.dtype.kind in "iu" and np.can_cast(value.dtype, np.int64):
        return value.astype(np.int64)
    return value if value.dtype.kind in "iubO" else value.astype(np.float64)
