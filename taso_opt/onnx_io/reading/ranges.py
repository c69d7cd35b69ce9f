"""Between what numbers the values of a model's constants lie, found out once for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

import numpy as np

from taso_opt.core.condition import Bounds
from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Const, Term, postorder
from taso_opt.core.types import FLOATS
from taso_opt.onnx_io.files.weights import Weights
from taso_opt.onnx_io.reading.fold import fold_constant
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

MOST_ELEMENTS = 2**24
"""Values of constants of at most so many elements are looked at; scales and slopes have a few thousand."""

MOST_COMPUTED = 2**16
"""And of what is computed from constants, if no tensor on the way is larger."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """The least and the greatest element of constants, and of terms over constants alone."""

    builder: Builder
    weights: Weights
    _known: dict[Term, Array | None] = field(default_factory=dict, repr=False)

    def within(self, term: Term, bounds: Bounds) -> bool:
        """Whether a term is constant, of floats, and all its values lie within; infinities never do."""
        if term not in self._known:
            self._known[term] = self._ends(term)
        ends = self._known[term]
        return ends is not None and bounds.admit(ends)

    def _ends(self, term: Term) -> Array | None:
        terms = postorder([term])
        leaves = [leaf for leaf in terms if isinstance(leaf, Const)]
        limit = MOST_ELEMENTS if term in leaves else MOST_COMPUTED
        if not self._are_small_floats(terms, limit):
            return None
        if not all(self._has_meaning(part) for part in terms):
            return None
        if len({leaf.type.dtype for leaf in leaves}) != 1:
            return None
        value = fold_constant(self.builder, term, lambda leaf: self.weights(leaf.name))
        finite = value.size > 0 and value.dtype.kind == "f" and bool(np.isfinite(value).all())
        return np.array([value.min(), value.max()]) if finite else None

    def _has_meaning(self, term: Term) -> bool:
        """Whether the value can be computed: a known weight, a literal, or an operator of the specs."""
        if isinstance(term, Const):
            return literal_value(term) is not None or term.name in self.weights.tensors
        return isinstance(term, Apply) and self.builder.operator(term) is not None

    def _are_small_floats(self, terms: Iterable[Term], limit: int) -> bool:
        kinds = [kind for term in terms for kind in self.builder.types(term)]
        return all(kind.dtype in FLOATS and kind.is_static and prod(kind.static_shape) <= limit for kind in kinds)
