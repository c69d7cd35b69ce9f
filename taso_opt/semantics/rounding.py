"""How far apart values in float64 may be that are equal but for rounding."""

from __future__ import annotations

import numpy as np

from taso_opt.spec.operator import Array

TOLERANCE = 1e-9
"""Largest difference, relative to the value and to the largest one of its output."""

MOST_BESIDE = 1e3
"""The largest value of an output that excuses differences of others: these were computed from numbers of like size,
but from a huge constant beside them none was."""


def far_apart(u: Array, v: Array) -> Array:
    """Where finite values differ; a window inside padding alone gives infinities, after which anything may be NaN."""
    finite = np.isfinite(u) & np.isfinite(v)
    largest = float(np.max(np.abs(u), where=finite, initial=0.0))
    scale = np.maximum(np.abs(u), np.clip(largest, 1.0, MOST_BESIDE))
    with np.errstate(invalid="ignore"):  # infinity less infinity
        difference = np.where(finite, u - v, 0.0)
    return np.asarray(finite & (np.abs(difference) > TOLERANCE * scale))
