"""The waves that Fourier transforms of real numbers compare them with: a cosine and a negative sine for each frequency.

Each transform is linear, so that it is a product with a matrix, or a convolution where a window slides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.dims import Dim
from taso_opt.core.literal import literal
from taso_opt.core.term import Term
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array, ArrayModule, OnnxNode

PARTS = 2
"""Real and imaginary."""

MOST_NUMBERS = 1 << 23
"""Of one transform: there are about as many as the square of its length, and they are written into the file."""


def frequencies(length: int, onesided: int) -> int:
    """How many frequencies there are of so many elements; one-sided without those that mirror others."""
    return length // 2 + 1 if onesided else length


def is_small(length: Dim, onesided: int) -> bool:
    """Whether the waves of a length can be written down."""
    return isinstance(length, int) and 0 < frequencies(length, onesided) * PARTS * length <= MOST_NUMBERS


def waves(length: int, onesided: int) -> NDArray[np.float64]:
    """Both parts of each wave, of shape [frequencies, 2, length]."""
    turns = np.outer(np.arange(frequencies(length, onesided)), np.arange(length)) % length / length * 2 * np.pi
    return np.stack([np.cos(turns), -np.sin(turns)], axis=1)


def windowed_waves(xp: ArrayModule, window: Array, onesided: int) -> Array:
    """The waves of a window's length, each element times that of the window."""
    (length,) = xp.shape(window)
    shape = frequencies(length, onesided), PARTS, length
    return xp.multiply(xp.numbers(window, f"waves {shape}", shape, lambda: waves(length, onesided)), window)


def all_alike(op: Builder, length: int, dtype: str) -> Term:
    """A window that leaves every element as it is."""
    return op.Expand(literal(1, dtype), shape=(length,))


def number_of(node: OnnxNode, at: int, default: Dim | None = None) -> Dim | None:
    """The number that an operand is known to be, the default where it is left out; None where it is not known."""
    if len(node.inputs) <= at or node.inputs[at] is None:
        return default
    value = node.constants[at]
    return None if value is None or np.size(value) != 1 else int(np.reshape(value, ()))
