"""Candidates that compute a convolution tile by tile with fewer products (Toom and Cook, Winograd).

Polynomials are multiplied by multiplying their values at points. Any points that differ will do, but rounding errors
grow with some of them seventy times as much as with others: all sets of small ratios are compared by how much. With
the best one an image is taken apart into tiles by one convolution, all products of a kind are those of one group of
another, and a matrix makes the outputs of the products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.equations.confirm import holds_in_floats
from taso_opt.generate.schemes.passing import INSTANCES
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.interpolation import Point, of_inputs, of_outputs, of_taps
from taso_opt.spec.shared.windows import ANY_WINDOWS
from taso_opt.spec.text import format_rule

TILES = ((3, 2), (3, 4), (5, 2))
"""Taps of a kernel and outputs of a tile along an axis: more would round too much, fewer save nothing."""

RATIOS = sorted({Fraction(p, q) for p in range(1, 5) for q in range(1, 5)})
"""What points are taken from, with both signs; 0 and the leading coefficient cost least and are always there."""

POINTWISE: Mapping[str, Attribute] = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1)}


def discover_tiles(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Convolutions in tiles, with and without a bias, in the order of the text form."""
    builder = library.builder()
    found = (rule for taps, tile in TILES for rule in _rules(builder, taps, tile))
    kept = [rule for rule in found if rule.operators <= operators and holds_in_floats(rule, builder, seed, INSTANCES)]
    return tuple(sorted(kept, key=format_rule))


def best_points(count: int, taps: int) -> tuple[Point, ...]:
    """The points with which rounding errors grow least, an even number of them."""
    pairs = combinations(RATIOS, count // 2 - 1)
    sets = [((0, 1), *(_point(sign * ratio) for ratio in ratios for sign in (1, -1)), (1, 0)) for ratios in pairs]
    return min(sets, key=lambda points: growth(points, taps))


def growth(points: Sequence[Point], taps: int) -> Fraction:
    """By how much the square of a rounding error grows at most: as if all errors were independent and of one size."""
    inputs, kernels = (
        [sum(value**2 for value in row) for row in rows] for rows in (of_inputs(points), of_taps(points, taps))
    )
    return max(
        sum((value**2 * one * other for value, one, other in zip(row, inputs, kernels, strict=True)), Fraction(0))
        for row in of_outputs(points, taps)
    )


def _point(ratio: Fraction) -> Point:
    return ratio.numerator, ratio.denominator


@dataclass(frozen=True)
class _Convolution:
    """A convolution of stride 1 whose outputs fill tiles but for some rows and some columns of the last ones."""

    builder: Builder
    points: tuple[Point, ...]
    taps: int
    tile: int
    rest: tuple[int, int]
    biased: bool


def _rules(builder: Builder, taps: int, tile: int) -> Iterator[Rule]:
    points = best_points(taps + tile - 1, taps)
    for rows, columns, biased in product(range(tile), range(tile), (False, True)):
        yield _rule(_Convolution(builder, points, taps, tile, (rows, columns), biased))


def _rule(one: _Convolution) -> Rule:
    n, c, m, g, a, b = map(symbol, "ncmgab")
    top, left, bottom, right = ANY_WINDOWS["pads"]
    rows, columns = one.tile * a - one.rest[0], one.tile * b - one.rest[1]
    image = (n, g * c, rows + one.taps - 1 - top - bottom, columns + one.taps - 1 - left - right)
    x, f, bias = (
        Var(name, TensorType(REAL, shape))
        for name, shape in (("x", image), ("f", (g * m, c, one.taps, one.taps)), ("b", (g * m,)))
    )
    operands = (x, f, bias) if one.biased else (x, f)
    windows = {**POINTWISE, "pads": (top, left, bottom, right), "group": g}
    whole = _from_products(one, f, _products(one, x, f, bias), (n, g * m, a, b))
    for axis, size, rest in zip((-2, -1), (rows, columns), one.rest, strict=True):
        whole = one.builder.apply("Slice", (whole,), {"axis": axis, "sizes": (0, size, rest)}) if rest else whole
    return Rule((one.builder.apply("Conv", operands, windows),), (whole,))


def _products(one: _Convolution, x: Var, f: Var, bias: Var) -> Term:
    """The products of all tiles, a group of channels for each point: [n, t*t*channels, rows, columns of tiles]."""
    n, c, m, g, a, b = map(symbol, "ncmgab")
    _, _, *sizes = x.type.shape
    top, left, bottom, right = ANY_WINDOWS["pads"]
    count = len(one.points) ** 2
    windows: dict[str, Attribute] = {
        **POINTWISE,
        "strides": (one.tile, one.tile),
        "pads": (top, left, bottom + one.rest[0], right + one.rest[1]),
        "group": 1,
    }
    taken = one.builder.apply("WinogradInput", (f,), {"points": one.points})
    tiles = one.builder.apply("Conv", (_shaped(one, x, (n * g * c, 1, *sizes)), taken), windows)
    turned = one.builder.apply("Transpose", (_shaped(one, tiles, (n, g * c, count, a, b)),), {"perm": (-3, -4, -2, -1)})
    kernels = one.builder.apply("WinogradKernel", (f,), {"points": one.points})
    prepared = [_shaped(one, kernels, (g * m * count, c, 1, 1))]
    if one.biased:
        prepared.append(one.builder.apply("WinogradBias", (bias, f), {"points": one.points}))
    operands = (_shaped(one, turned, (n, g * c * count, a, b)), *prepared)
    return one.builder.apply("Conv", operands, {**POINTWISE, "group": g * count})


def _from_products(one: _Convolution, f: Var, products: Term, shape: tuple[Dim, ...]) -> Term:
    """The outputs of all tiles, those of a tile side by side."""
    n, channels, a, b = shape
    count = len(one.points) ** 2
    matrix = one.builder.apply("WinogradOutput", (f,), {"points": one.points})
    flat = _shaped(one, products, (n, count, channels * a * b))
    outputs = _shaped(one, one.builder.apply("MatMul", (matrix, flat), {}), (n, channels * one.tile**2, a, b))
    return one.builder.apply("DepthToSpace", (outputs,), {"block": one.tile})


def _shaped(one: _Convolution, term: Term, shape: tuple[Dim, ...]) -> Term:
    return one.builder.apply("Reshape", (term,), {"shape": shape})
