"""Candidates about sums and means over an axis of few elements: as many slices, added up one by one.

A runtime may take longer to reduce an axis that is not the last than to add what lies along it, and where that was
joined, nothing has to be cut: networks with branches stack these to weigh and to add them up, ensembles to average.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from itertools import product

from taso_opt.core.literal import literal
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

COUNTS = (2, 3, 4)
"""How many elements are few."""

INNER = (("t1",), ("t2", "t1"), ("t3", "t2", "t1"))
"""What lies behind the axis; the last axis is reduced fast."""


def discover_stacked(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about sums and means of few elements, in the order of their text form."""
    builder = library.builder()
    return confirmed(_candidates(builder), builder, seed, operators)


def _candidates(builder: Builder) -> Iterator[Rule]:
    for count, inner in product(COUNTS, INNER):
        x, axis = Var("x", parse_scheme(" ".join(["*b", str(count), *inner]))), -1 - len(inner)
        parts = [_part(builder, x, axis, at, count) for at in range(count)]
        total = reduce(lambda one, other: builder.apply("Add", (one, other), {}), parts)
        mean = builder.apply("Mul", (total, literal(Fraction(1, count))), {})
        for name, found in (("ReduceSum", total), ("ReduceMean", mean)):
            yield Rule((builder.apply(name, (x,), {"axes": (axis,)}),), (found,))


def _part(builder: Builder, term: Term, axis: int, at: int, count: int) -> Term:
    """One of so many elements along an axis."""
    return builder.apply("Slice", (term,), {"axis": axis, "sizes": (at, 1, count - at - 1)})
