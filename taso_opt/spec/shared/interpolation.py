"""Convolutions of small tiles by few products: polynomials are multiplied by their values at points (Toom and Cook).

A tile of m neighbouring outputs of a convolution with r taps needs t = m + r - 1 inputs, and no more than t products:
y = A ((G w) * (B x)) for three matrices of numbers that the points determine (Winograd, Arithmetic Complexity of
Computations, 1980, chapter 5). Points are ratios, with 1 over 0 for the leading coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm

import numpy as np

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec.operator import Array, ArrayModule

Point = tuple[int, int]
Matrix = tuple[tuple[Fraction, ...], ...]


def tile_of(points: Sequence[Point], taps: int) -> int:
    """How many outputs a tile has; TypeMismatch where that is none, or two points are the same."""
    tile = len(points) - taps + 1
    same = any(a * d == b * c for at, (a, b) in enumerate(points) for c, d in points[:at])
    if tile < 1 or same or (0, 0) in points:
        raise TypeMismatch(f"expected at least {taps} points that differ for {taps} taps, found {list(points)}")
    return tile


def taps_of(operator: str, kernel: TensorType, points: Sequence[Point]) -> int:
    """How many taps a kernel has along each of its two axes; TypeMismatch where they differ, or are too many."""
    taps = kernel.shape[-1] if kernel.rank == 4 else None
    if not isinstance(taps, int) or kernel.shape[-2] != taps:
        raise TypeMismatch(f"expected a kernel with as many rows as columns of taps for {operator}, found {kernel}")
    tile_of(points, taps)
    return taps


def of_outputs(points: Sequence[Point], taps: int) -> Matrix:
    """A, of m rows: by how much each product counts for each output; whole numbers."""
    powers = _powers(points, tile_of(points, taps))
    return tuple(zip(*powers, strict=True))


def of_inputs(points: Sequence[Point]) -> Matrix:
    """B, of t rows: what of a tile each product multiplies; whole numbers."""
    return _inverse(tuple(points))[0]


def of_taps(points: Sequence[Point], taps: int) -> Matrix:
    """G, of t rows and r columns: by what each product multiplies that."""
    scales = _inverse(tuple(points))[1]
    powers = _powers(points, taps)
    return tuple(tuple(value / scale for value in row) for row, scale in zip(powers, scales, strict=True))


def of_ones(points: Sequence[Point], taps: int) -> tuple[Fraction, ...]:
    """What the products are when every output is 1: those of as many points as a tile has outputs."""
    tile = tile_of(points, taps)
    found = [sum(row) for row in zip(*_inverted(_powers(points[:tile], tile)), strict=True)]
    return (*found, *(Fraction(0) for _ in points[tile:]))


def _powers(points: Sequence[Point], count: int) -> Matrix:
    """The powers of each point, a row each: of a ratio p/q they are p^i q^(count-1-i)."""
    return tuple(tuple(Fraction(p**i * q ** (count - 1 - i)) for i in range(count)) for p, q in points)


@lru_cache
def _inverse(points: tuple[Point, ...]) -> tuple[Matrix, tuple[int, ...]]:
    """The transposed inverse of the matrix of powers, each row a multiple in whole numbers, and these multiples."""
    columns = tuple(zip(*_inverted(_powers(points, len(points))), strict=True))
    scales = tuple(lcm(*(value.denominator for value in column)) for column in columns)
    return tuple(
        tuple(value * scale for value in column) for column, scale in zip(columns, scales, strict=True)
    ), scales


def _inverted(matrix: Matrix) -> Matrix:
    """The inverse, by elimination in exact arithmetic."""
    size = len(matrix)
    rows = [[*row, *(Fraction(at == column) for column in range(size))] for at, row in enumerate(matrix)]
    for at in range(size):
        pivot = next(place for place in range(at, size) if rows[place][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for place in range(size):
            if place != at:
                rows[place] = [v - rows[place][at] * u for v, u in zip(rows[place], rows[at], strict=True)]
    return tuple(tuple(row[size:]) for row in rows)


def of_both_axes(matrix: Matrix, shape: Sequence[int]) -> Array:
    """What a matrix does along rows and columns at once: a row and a column of it for each pair of theirs."""
    numbers = np.array(matrix, dtype=object)
    return np.kron(numbers, numbers).reshape(tuple(shape))


def tensor(xp: ArrayModule, like: Array, numbers: Array) -> Array:
    """Rational numbers, in two axes or more, as a tensor of the element type of another one."""
    return xp.scale(xp.broadcast(xp.identity(like, 1), numbers.shape), numbers)
