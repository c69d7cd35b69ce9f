"""The free interpretation: an element is a hash of the tree of operations that computes it.

Two terms with equal arrays under it do the same floating-point operations for each element, in the same order up to
the operands of one addition or multiplication.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np

from taso_opt.semantics.arrays import FloatArrays, aligned, mixed, surrounded
from taso_opt.spec.operator import Array, ScalarFunction


class FreeArrays(FloatArrays):
    """Operations hash their operands; data movement moves the hashes; padding is a leaf of its own."""

    lowest: Any = np.uint64(0x9D39_5F4A_10C2_3B67)
    zero = np.uint64(0x51ED_2701_89A4_77C3)

    def __init__(self) -> None:
        self._images: dict[str, Array] = {}

    def random(self, generator: np.random.Generator, shape: Sequence[int]) -> Array:
        """Different leaves, up to the collisions of 64-bit numbers."""
        return generator.integers(0, 2**64 - 1, size=tuple(shape), dtype=np.uint64)

    def numbers(self, like: Array, name: str, shape: Sequence[int], values: Callable[[], Array]) -> Array:
        """Leaves of their own."""
        return np.repeat(mixed(np.arange(math.prod(shape)).reshape(1, *shape), name), like.shape[0], axis=0)

    def add(self, x: Array, y: Array) -> Array:
        """The same for both orders of the operands."""
        return _unordered("add", *aligned(x, y))

    def subtract(self, x: Array, y: Array) -> Array:
        """Different for both orders."""
        return _ordered("subtract", *aligned(x, y))

    def multiply(self, x: Array, y: Array) -> Array:
        """The same for both orders of the operands."""
        return _unordered("multiply", *aligned(x, y))

    def scale(self, x: Array, factors: Fraction | Array) -> Array:
        """A multiplication by constants."""
        leaves = np.vectorize(lambda factor: _key(f"constant {factor}"), otypes=[np.uint64])
        return _unordered("multiply", x, leaves(np.asarray(factors, dtype=object)))

    def apply(self, function: ScalarFunction, x: Array) -> Array:
        """One operation named after the function; an idempotent one does nothing to its own images."""
        image = mixed(x, f"apply {function.name}")
        if not function.idempotent:
            return image
        known = self._images.get(function.name)
        result = image if known is None else np.where(_among(known, x), x, image)
        others = result.ravel() if known is None else np.concatenate((known, result.ravel()))
        self._images[function.name] = np.sort(others)
        return result

    def _einsum(self, subscripts: str, x: Array, y: Array) -> Array:
        """The products in order of the contracted indices, summed one after the other."""
        inputs, out = subscripts.split("->")
        summed = "".join(sorted(set(inputs) - set(out) - set(",")))
        spread = f"{inputs}->{out}{summed}"
        left = np.einsum(spread, x, np.ones_like(y))
        products = _unordered("multiply", left, np.einsum(spread, np.ones_like(x), y))
        return self.sum(products, range(-len(summed), 0)) if summed else products

    def sum(self, x: Array, axes: Sequence[int]) -> Array:
        """The elements added one after the other; a lone element is itself."""
        moved = np.moveaxis(x, list(axes), list(range(-len(axes), 0)))
        flat = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
        if flat.shape[-1] == 1:
            return np.asarray(flat[..., 0])
        turns = mixed(np.arange(flat.shape[-1]), "turn") | np.uint64(1)
        return mixed(np.einsum("...k,k->...", _as_second(flat), turns), "add in turn")

    def maximum(self, x: Array, axes: Sequence[int]) -> Array:
        """Exact in every order, so an unordered hash."""
        return np.asarray(np.sum(mixed(x, "maximum"), axis=tuple(axes), dtype=np.uint64))

    def pad(self, x: Array, widths: Sequence[tuple[int, int]], lowest: bool = False) -> Array:
        """Pad the last axes with the leaf for zero, or with the one that loses every comparison."""
        return surrounded(x, widths, self.lowest if lowest else self.zero)


def _among(known: Array, x: Array) -> Array:
    """Which elements are among sorted ones."""
    if not len(known):
        return np.zeros(x.shape, bool)
    places = np.searchsorted(known, x)
    return np.asarray(known[np.minimum(places, len(known) - 1)] == x)


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _ordered(name: str, x: Array, y: Array) -> Array:
    return mixed(x * np.uint64(3) + _as_second(y), name)


def _as_second(y: Array) -> Array:
    return mixed(y, "second operand")


def _unordered(name: str, x: Array, y: Array) -> Array:
    return mixed(mixed(x, "operand") + mixed(y, "operand"), name)
