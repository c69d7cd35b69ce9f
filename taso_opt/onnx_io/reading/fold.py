"""Computes terms that depend on constants alone, so that a written model need not."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

import numpy as np

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Const, Term, postorder
from taso_opt.core.types import TRUTH
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

MOST_REMEMBERED = 128 << 20
"""Bytes of values that are kept, since the plans of a search fold much the same."""


@dataclass(frozen=True, eq=False)
class Folded:
    """The values of terms over the constants of a model, each computed once if there is room to remember it."""

    builder: Builder
    constant: Callable[[str], Array]
    _known: dict[Term, Array] = field(default_factory=dict, repr=False)

    def __call__(self, term: Term) -> Array:
        """The value of a term over constants, not to be written to."""
        if term in self._known:
            return self._known[term]
        value = fold_constant(self.builder, term, lambda leaf: self.constant(leaf.name))
        if sum(known.nbytes for known in self._known.values()) + value.nbytes <= MOST_REMEMBERED:
            self._known[term] = value
        return value


def fold_constant(builder: Builder, term: Term, constant: Callable[[Const], Array]) -> Array:
    """The value of a term over constants: floats are computed in float64 and rounded once, whole numbers as such.

    What is true or false may stand beside numbers, and be computed of these; it may choose between numbers of another
    type than those that it compares.
    """
    parts = postorder([term])
    leaves: dict[Term, Array] = {leaf: _value(leaf, constant) for leaf in parts if isinstance(leaf, Const)}
    dtype = _element_type(builder.type(term).dtype, {value.dtype for value in leaves.values()})
    if not all(map(builder.moves_data, parts)):
        leaves = {leaf: _widened(value) for leaf, value in leaves.items()}
    with np.errstate(all="ignore"):
        (value,) = evaluate_arrays(builder, FloatArrays(), [term], leaves)
        return np.ascontiguousarray(value).astype(dtype, copy=False).reshape(value.shape)


def _element_type(wanted: str, dtypes: Set[np.dtype[np.generic]]) -> np.dtype[np.generic]:
    """NumPy's type of a name; one that NumPy lacks by itself is among those of the operands."""
    numbers = dtypes - {np.dtype(bool)}
    if wanted != TRUTH and len(numbers) == 1:
        return next(iter(numbers))
    found = [dtype for dtype in dtypes if dtype.name == wanted]
    return found[0] if found else np.dtype(wanted)


def _value(leaf: Const, constant: Callable[[Const], Array]) -> Array:
    number = literal_value(leaf)
    return constant(leaf) if number is None else np.asarray(float(number), leaf.type.dtype)


def _widened(value: Array) -> Array:
    """Floats as doubles; small integers as large ones, since meanings subtract and unsigned ones would wrap around."""
    if value.dtype.kind in "iu" and np.can_cast(value.dtype, np.int64):
        return value.astype(np.int64)
    return value if value.dtype.kind in "iubO" else value.astype(np.float64)
