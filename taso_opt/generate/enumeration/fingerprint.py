"""Fingerprints: 128 bits of the residues of a term at every shape set, computed for many terms at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from taso_opt.semantics.devices import IN_MEMORY, ArrayModule
from taso_opt.spec.operator import Array

Keys = NDArray[np.uint64]
"""One row of two words a term; equal rows mean equal values, up to a chance of about 2**-62 for each pair."""

_WORDS = 2


@cache
def _weights(place: int, elements: int) -> Keys:
    """Random odd multipliers, the same in every process: a linear hash modulo 2**64 is universal."""
    generator = np.random.default_rng([0x7A50, place, elements])
    return generator.integers(0, 2**64, size=(elements, _WORDS), dtype=np.uint64) | np.uint64(1)


def fingerprints(values: Sequence[Array], kind: int, module: ArrayModule = IN_MEMORY) -> Array:
    """The keys of terms from their values at every shape set, terms on the first axis; `kind` numbers their type.

    They live where the values do.
    """
    count = values[0].shape[0]
    keys: Array = module.asarray(_weights(len(values), kind + 1)[kind])
    for place, value in enumerate(values):
        flat = value.reshape(count, prod(value.shape[1:])).astype(np.uint64)
        keys = keys + flat @ module.asarray(_weights(place, flat.shape[1]))
    return keys


def nonzero(values: Sequence[Array]) -> Array:
    """Which terms are not zero everywhere; a term that is always zero says nothing about its variables."""
    flags: list[Array] = [np.any(value, axis=tuple(range(1, value.ndim))) for value in values]
    return reduce(np.logical_or, flags)
