"""Discovers that a line and a function with a bend at zero add up to the larger or the smaller of two lines.

So models say leaky rectifiers in pieces, 0.6 x + 0.4 |x|. Sums and pairs of lines are compared at random points, with
the factor of the bend on one side of zero, as `bounded` does with single functions; the verifier decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from taso_opt.core.condition import ALL_BOUNDS, AT_LEAST_0, AT_MOST_0, Bounds
from taso_opt.core.literal import literal
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.scalar.bounded import CONSTANT, SAMPLES, under_the_weakest
from taso_opt.generate.scalar.functions import SPREAD, value_key
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.conditions import fitted
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Array
from taso_opt.spec.shared.shapes import any_shape
from taso_opt.spec.text import format_rule

BENDS = ("Relu", "Abs")
OTHER = "t"
"""The factor of the line; that of the bend is the constant within bounds."""

OPERATORS = frozenset({*BENDS, "Add", "Sub", "Neg", "Mul", "Max", "Min"})


def discover_bends(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidate equations, each under the weakest condition on the factor of the bend, in the order of the text."""
    if not operators >= OPERATORS:
        return ()
    builder = library.builder()
    found = {
        format_rule(rule): rule
        for bounds in (AT_LEAST_0, AT_MOST_0)
        for equation in _equations(builder, bounds, seed)
        for rule in under_the_weakest(builder, equation, ALL_BOUNDS, seed)
    }
    return tuple(found[text] for text in sorted(found))


def _equations(builder: Builder, bounds: Bounds, seed: int) -> Iterator[Rule]:
    """The sums with the pairs of lines that are equal at points with the factor of the bend within the bounds."""
    x, s, t = (Var(name, TensorType(REAL, (any_shape(name),))) for name in ("x", CONSTANT, OTHER))
    generator = np.random.default_rng(seed)
    points: dict[Term, Array] = dict(zip((x, s, t), generator.uniform(-SPREAD, SPREAD, (3, SAMPLES)), strict=True))
    points[s] = fitted(bounds, points[s], ends=False)
    sums, pairs = list(_sums(builder, x, s, t)), list(_pairs(builder, x, s, t))
    values = evaluate_arrays(builder, FloatArrays(), (*sums, *pairs), points)
    of_sums = dict(zip(sums, map(value_key, values), strict=False))
    of_pairs = dict(zip(map(value_key, values[len(sums) :]), pairs, strict=True))
    yield from (Rule((one,), (of_pairs[key],)) for one, key in of_sums.items() if key in of_pairs)


def _sums(builder: Builder, x: Term, s: Term, t: Term) -> Iterator[Term]:
    """A line plus or less a bend times a factor, and the other way round."""
    lines = x, builder.apply("Mul", (x, t), {})
    bends = [builder.apply("Mul", (builder.apply(name, (x,), {}), s), {}) for name in BENDS]
    for line, bend in product(lines, bends):
        yield builder.apply("Add", (line, bend), {})
        yield builder.apply("Sub", (line, bend), {})
        yield builder.apply("Sub", (bend, line), {})


def _pairs(builder: Builder, x: Term, s: Term, t: Term) -> Iterator[Term]:
    """The larger and the smaller of two lines, the slopes of which are factors or what one operator makes of them."""
    one = literal(1)
    factors = s, t, one
    slopes = [s, t, *(builder.apply("Neg", (factor,), {}) for factor in (s, t))]
    slopes += [builder.apply("Add", both, {}) for both in combinations(factors, 2)]
    slopes += [
        builder.apply("Sub", (first, second), {}) for first, second in product(factors, factors) if first != second
    ]
    lines = [x, *(builder.apply("Mul", (x, slope), {}) for slope in slopes)]
    for both in combinations(lines, 2):
        yield from (builder.apply(name, both, {}) for name in ("Max", "Min"))
