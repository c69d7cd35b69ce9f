"""Numbers that satisfy the conditions of a rule, made from numbers that need not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from taso_opt.core.condition import Bounds, Condition
from taso_opt.core.term import Const, Term, Var
from taso_opt.spec.operator import Array

LEAST = 2.0**-6
"""The smallest number that stands for a positive one."""


def fitted(bounds: Bounds, values: Array, ends: bool = True) -> Array:
    """Finite numbers within the bounds: those that lie there stay, others come to a bound or are mirrored at it.

    About half of those outside come to the very bound, where conditions are most easily a little too weak; none do
    without `ends`.
    """
    low = None if bounds.low is None else bounds.low + (LEAST if bounds.open else 0.0)
    stays = (np.floor(np.abs(values) * 8) % 2 == 0) & ends
    if low is not None and bounds.high is not None:
        inside = low + np.abs(values - np.floor(values)) * (bounds.high - low)
        outside = (values < low) | (values > bounds.high)
        return np.where(outside & ~stays, inside, np.clip(values, low, bounds.high))
    if low is not None:
        return np.where(stays, np.maximum(values, low), low + np.abs(values - low))
    assert bounds.high is not None, "expected bounds with an end"
    return np.where(stays, np.minimum(values, bounds.high), bounds.high - np.abs(values - bounds.high))


def broken(bounds: Bounds, values: Array) -> Array:
    """Finite numbers outside of the bounds, on either side where there are two."""
    below = None if bounds.low is None else bounds.low - 0.5 - np.abs(values)
    above = None if bounds.high is None else bounds.high + 0.5 + np.abs(values)
    if below is None or above is None:
        return np.asarray(above if below is None else below)
    return np.where(values < 0, below, above)


def conditioned(conditions: Iterable[Condition], leaves: Mapping[Term, Array], ends: bool = True) -> dict[Term, Array]:
    """The values of leaves, those that conditions speak of brought within their bounds."""
    bounds = {one.variable: one.bounds for one in conditions}
    return {
        leaf: fitted(bounds[leaf.name], value, ends) if isinstance(leaf, Var | Const) and leaf.name in bounds else value
        for leaf, value in leaves.items()
    }
