"""The primitives of meanings over NumPy arrays whose hidden first axis runs over independent samples.

One call evaluates an operator for many operand tuples at once: the enumerator puts thousands of terms on the hidden
axis, the reference evaluation puts one. Subclasses say what the elements are (floats, residues, Z3 terms).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from taso_opt.semantics.devices import IN_MEMORY, ArrayModule
from taso_opt.spec.operator import Array, Recurrence, ScalarFunction

SAMPLE_AXIS = "z"

SMALL = 2**10
"""Elements up to which a contraction is done before a plan for it is made."""


class FloatArrays:
    """Real arithmetic in the precision of the operands: the reference that ONNX Runtime is compared with."""

    lowest: Any = -np.inf

    def shape(self, x: Array) -> tuple[int, ...]:
        """The shape of one sample."""
        return x.shape[1:]

    def add(self, x: Array, y: Array) -> Array:
        """Element-wise sum with broadcasting."""
        a, b = aligned(x, y)
        return np.add(a, b)

    def subtract(self, x: Array, y: Array) -> Array:
        """Element-wise difference with broadcasting."""
        a, b = aligned(x, y)
        return np.subtract(a, b)

    def larger(self, x: Array, y: Array) -> Array:
        """Element-wise maximum with broadcasting."""
        a, b = aligned(x, y)
        return np.maximum(a, b)

    def smaller(self, x: Array, y: Array) -> Array:
        """Element-wise minimum with broadcasting."""
        a, b = aligned(x, y)
        return np.minimum(a, b)

    def clipped(self, x: Array, low: tuple[int, ...], high: tuple[int, ...]) -> Array:
        """Element-wise Clip; an end is a numerator and a denominator, or nothing."""
        for end, nearer in ((low, np.maximum), (high, np.minimum)):
            if end:
                x = nearer(x, x.dtype.type(Fraction(*end)))
        return x

    def magnitude(self, x: Array) -> Array:
        """Element-wise absolute value."""
        return np.abs(x)

    def less(self, x: Array, y: Array) -> Array:
        """1 where an element is less than the other, else 0, with broadcasting."""
        a, b = aligned(x, y)
        return np.less(a, b).astype(a.dtype)

    def at_most(self, x: Array, y: Array) -> Array:
        """1 where an element is at most the other, else 0, with broadcasting."""
        a, b = aligned(x, y)
        return np.less_equal(a, b).astype(a.dtype)

    def chosen(self, condition: Array, x: Array, y: Array) -> Array:
        """One element where a condition is true, the other elsewhere, with broadcasting."""
        rank = max(condition.ndim, x.ndim, y.ndim)
        decides, a, b = (widened(operand, rank) for operand in (condition, x, y))
        return np.where(decides != 0, a, b)

    def multiply(self, x: Array, y: Array) -> Array:
        """Element-wise product with broadcasting."""
        a, b = aligned(x, y)
        return np.multiply(a, b)

    def divide(self, x: Array, y: Array) -> Array:
        """Element-wise quotient with broadcasting; of whole numbers the whole part, as ONNX has it."""
        a, b = aligned(x, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient: Array = np.divide(a, b)
            if a.dtype.kind in "iu" and b.dtype.kind in "iu":
                quotient = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
        return quotient

    def constant(self, value: Fraction) -> Array:
        """A scalar."""
        return np.array([float(value)])

    def identity(self, like: Array, size: int) -> Array:
        """The identity matrix of so many rows, of the element type of another tensor."""
        return np.repeat(np.eye(size, dtype=like.dtype)[np.newaxis], like.shape[0], axis=0)

    def numbers(self, like: Array, name: str, shape: Sequence[int], values: Callable[[], Array]) -> Array:
        """Numbers that a name stands for, in the precision of another tensor."""
        return np.repeat(values().astype(like.dtype)[np.newaxis], like.shape[0], axis=0)

    def scale(self, x: Array, factors: Fraction | Array) -> Array:
        """Multiply by a rational number, or by an object array of them that broadcasts at the last axes."""
        result: Array = x * np.asarray(factors, dtype=x.dtype)
        return result

    def apply(self, function: ScalarFunction, x: Array) -> Array:
        """Map a scalar function over all elements; where it is undefined the result is no number."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return function.real(x).astype(x.dtype, copy=False)

    def contract(self, subscripts: str, x: Array, y: Array) -> Array:
        """Sum of products in Einstein notation over explicit axes, `...` standing for broadcast ones."""
        return self._einsum(*_with_samples(subscripts, x, y))

    def _einsum(self, subscripts: str, x: Array, y: Array) -> Array:
        with np.errstate(invalid="ignore"):  # an infinity from a window of padding alone becomes NaN, as in the runtime
            result: Array = np.einsum(subscripts, x, y, optimize=x.size + y.size > SMALL)
        return result

    def sum(self, x: Array, axes: Sequence[int]) -> Array:
        """Sum over axes counted from the end, which disappear."""
        result: Array = np.sum(x, axis=tuple(axes))
        return result

    def maximum(self, x: Array, axes: Sequence[int]) -> Array:
        """Greatest element over axes counted from the end, which disappear."""
        result: Array = np.max(x, axis=tuple(axes))
        return result

    def concatenate(self, parts: Sequence[Array], axis: int) -> Array:
        """Join along an axis counted from the end."""
        return np.concatenate(parts, axis=axis)

    def slice(self, x: Array, axis: int, start: int, stop: int) -> Array:
        """Elements start to stop along an axis counted from the end."""
        index: list[slice] = [slice(None)] * x.ndim
        index[axis] = slice(start, stop)
        return x[tuple(index)]

    def gather(self, x: Array, places: Array, axis: int) -> Array:
        """What lies along an axis counted from the end at each of some places; negative ones count from the end of it.

        Any number names a place, as residues and hashes do too: the whole number below it, over and over.
        """
        whole = np.floor(places) if places.dtype.kind == "f" else places
        at = np.mod(whole, x.shape[axis]).astype(np.intp)
        first = np.moveaxis(x, axis, 1)
        found = first[np.arange(len(x))[:, np.newaxis], at.reshape(len(at), -1)]
        before = x.ndim + axis - 1
        shape = (*first.shape[2 : 2 + before], *at.shape[1:], *first.shape[2 + before :])
        return np.moveaxis(found, 1, 1 + before).reshape(len(found), *shape)

    def transpose(self, x: Array, permutation: Sequence[int]) -> Array:
        """Permute the axes; `permutation` counts from 0 within one sample."""
        return np.transpose(x, (0, *(axis + 1 for axis in permutation)))

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        """The same elements in row-major order under another shape."""
        return np.reshape(x, (x.shape[0], *shape))

    def broadcast(self, x: Array, shape: Sequence[int]) -> Array:
        """The same elements repeated along axes of size one, and along new ones before the first, up to a shape."""
        return np.broadcast_to(widened(x, len(shape) + 1), (x.shape[0], *shape))

    def pad(self, x: Array, widths: Sequence[tuple[int, int]], lowest: bool = False) -> Array:
        """Pad the last axes with zeros, or with what loses every comparison."""
        return surrounded(x, widths, self.lowest if lowest else 0)

    def iterate(
        self, step: Recurrence, rows: Array, state: Sequence[Array], operands: Sequence[Array]
    ) -> tuple[Array, ...]:
        """The states of a recurrence after each row of the first axis, which is a new first axis of each result."""
        count, *shape = self.shape(rows)
        found: list[tuple[Array, ...]] = []
        for place in range(count):
            row = self.reshape(self.slice(rows, -len(shape) - 1, place, place + 1), shape)
            state = step(self, row, tuple(state), tuple(operands))
            found.append(tuple(self.reshape(one, (1, *self.shape(one))) for one in state))
        return tuple(self.concatenate(parts, -len(self.shape(parts[0]))) for parts in zip(*found, strict=True))

    def windows(self, x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
        """All windows over the last axes; the positions inside a window become new last axes."""
        axes = tuple(range(-len(kernel), 0))
        spans = [dilation * (width - 1) + 1 for width, dilation in zip(kernel, dilations, strict=True)]
        view = sliding_window_view(x, spans, axis=axes)
        steps: list[Any] = [slice(None, None, step) for step in (*strides, *dilations)]
        return view[(..., *steps)]


class ModularArrays(FloatArrays):
    """Arithmetic modulo a prime: exact, so that equal fingerprints mean equal polynomials with high probability.

    Scalar functions are pseudo-random maps that satisfy their declared facts, keyed by name and seed. Schwartz-Zippel
    bounds the chance that two different polynomials of degree d agree on one random element by d / prime.
    """

    larger = smaller = less = at_most = chosen = clipped = magnitude = None  # type: ignore[assignment] # residues have no order

    prime = 2**31 - 1
    lowest = -1

    def __init__(self, seed: int = 0, module: ArrayModule = IN_MEMORY) -> None:
        self._seed, self._module = seed, module

    def identity(self, like: Array, size: int) -> Array:
        """The identity matrix, once for each sample."""
        identity: Array = self._module.asarray(super().identity(like, size))
        return identity

    def numbers(self, like: Array, name: str, shape: Sequence[int], values: Callable[[], Array]) -> Array:
        """Pseudo-random residues: nothing is proved that holds for some numbers only."""
        places = np.arange(math.prod(shape)).reshape(1, *shape)
        found = mixed(places, f"{name}/{self._seed}") % np.uint64(self.prime)
        residues: Array = self._module.asarray(np.repeat(found.astype(np.int64), like.shape[0], axis=0))
        return residues

    def random(self, generator: np.random.Generator, shape: Sequence[int]) -> Array:
        """Uniform residues."""
        return generator.integers(0, self.prime, size=tuple(shape), dtype=np.int64)

    def constant(self, value: Fraction) -> Array:
        """The residue of a rational number: in floating point, products with it would round."""
        residue: Array = self._module.asarray(np.array([self._residue(value)], np.int64))
        return residue

    def add(self, x: Array, y: Array) -> Array:
        """Sum modulo the prime."""
        return super().add(x, y) % self.prime

    def subtract(self, x: Array, y: Array) -> Array:
        """Difference modulo the prime."""
        return super().subtract(x, y) % self.prime

    def multiply(self, x: Array, y: Array) -> Array:
        """Product modulo the prime."""
        return super().multiply(x, y) % self.prime

    def divide(self, x: Array, y: Array) -> Array:
        """Quotient modulo the prime, 0 where the divisor is: by Fermat, 1/y is y to the power of the prime less 2."""
        inverse, square = np.ones_like(y), y
        for digit in reversed(bin(self.prime - 2)[2:]):
            inverse = inverse * square % self.prime if digit == "1" else inverse
            square = square * square % self.prime
        return self.multiply(x, inverse)

    def scale(self, x: Array, factors: Fraction | Array) -> Array:
        """Multiply by rational numbers, their denominators inverted modulo the prime."""
        residues = np.vectorize(self._residue, otypes=[np.int64])(np.asarray(factors, dtype=object))
        result: Array = x * self._module.asarray(residues) % self.prime
        return result

    def _residue(self, factor: Fraction) -> int:
        return factor.numerator * pow(factor.denominator, -1, self.prime) % self.prime

    def apply(self, function: ScalarFunction, x: Array) -> Array:
        """A pseudo-random map with the declared facts: an idempotent one keeps or zeroes each value."""
        bits = mixed(x, f"{function.name}/{self._seed}")
        if function.idempotent and function.zero_preserving:
            return np.where(bits & 1, x, 0)
        image = (bits % np.uint64(self.prime)).astype(np.int64)
        image = np.where(x == 0, 0, image) if function.zero_preserving else image
        return np.where(x == 1, 1, image) if function.one_preserving else image

    def sum(self, x: Array, axes: Sequence[int]) -> Array:
        """Sum modulo the prime; fewer than 2**32 addends cannot overflow."""
        return super().sum(x, axes) % self.prime

    def _einsum(self, subscripts: str, x: Array, y: Array) -> Array:
        high, low = x >> 16, x & 0xFFFF
        upper = np.einsum(subscripts, high, y) % self.prime
        result: Array = ((upper << 16) + np.einsum(subscripts, low, y)) % self.prime
        return result


def aligned(x: Array, y: Array) -> tuple[Array, Array]:
    """Give both operands the same rank so that broadcasting aligns logical axes at the end, samples at the front."""
    rank = max(x.ndim, y.ndim)
    return widened(x, rank), widened(y, rank)


def widened(x: Array, rank: int) -> Array:
    """The same tensor with axes of size one before its own, behind the samples, up to a rank."""
    return x if x.ndim == rank else x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:])


def surrounded(x: Array, widths: Sequence[tuple[int, int]], value: Any) -> Array:
    """The tensor with its last axes padded with one value; `numpy.pad` takes ten times as long for small tensors."""
    if not any(map(any, widths)):
        return x
    if min(map(min, widths)) < 0:
        raise ValueError(f"expected pads that are not negative, found {widths}")
    sizes = x.shape[-len(widths) :]
    padded = tuple(size + sum(around) for size, around in zip(sizes, widths, strict=True))
    result = np.full_like(x, value, shape=(*x.shape[: -len(widths)], *padded))
    inner: list[Any] = [slice(around[0], around[0] + size) for size, around in zip(sizes, widths, strict=True)]
    result[(..., *inner)] = x
    return result


def _with_samples(subscripts: str, x: Array, y: Array) -> tuple[str, Array, Array]:
    """Add the sample axis to subscripts of one sample; broadcast axes (`...`) get equal rank on both sides."""
    inputs, out = subscripts.split("->")
    left, right = inputs.split(",")
    if "..." in left and "..." in right:
        rank = max(x.ndim - len(left), y.ndim - len(right))
        x, y = widened(x, rank + len(left)), widened(y, rank + len(right))
    return ",".join(SAMPLE_AXIS + side for side in (left, right)) + f"->{SAMPLE_AXIS}{out}", x, y


def mixed(x: Array, key: str) -> Array:
    """A 64-bit mixing function (the finaliser of SplitMix64) of every element, keyed by text."""
    bits = x.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + _offset(key)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@lru_cache(maxsize=256)
def _offset(key: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little"))
