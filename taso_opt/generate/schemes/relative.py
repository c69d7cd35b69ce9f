"""Candidates about rows relative to one of them, and what all rows have in common: it is computed once.

Layers on clouds of points and on graphs take the neighbours of a point relative to it. A product with weights, and what
takes the greatest along an axis, let pass what is the same all along that axis; and where two such are added or
subtracted one after the other, they come together first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

TOGETHER = ("Add", "Sub")
ALL, COMMON, FEATURE, WEIGHTS = "*b m k", "*b 1 k", "*b m 1", "k n"

ALONG = {(-1,): FEATURE, (-2,): COMMON, (-2, -1): "*b 1 1"}
"""Axes along which the greatest is taken, and what is the same all along these."""


def discover_relative(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about what rows have in common, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed((*_products(builder), *_greatest(builder), *_sums(builder)), builder, seed, operators)


def _products(builder: Builder) -> Iterator[Rule]:
    """Weighted sums and differences of all rows and a common one."""
    weights = Var("z", parse_scheme(WEIGHTS))
    for name, schemes in product(TOGETHER, permutations((ALL, COMMON))):
        x, y = (Var(letter, parse_scheme(scheme)) for letter, scheme in zip("xy", schemes, strict=True))
        source = builder.MatMul(builder.apply(name, (x, y), {}), weights)
        apart = [builder.MatMul(one, weights) for one in (x, y)]
        yield Rule((source,), (builder.apply(name, apart, {}),))


def _greatest(builder: Builder) -> Iterator[Rule]:
    """The greatest of sums, and of differences from the same."""
    x = Var("x", parse_scheme(ALL))
    for name, (axes, common) in product(TOGETHER, ALONG.items()):
        y = Var("y", parse_scheme(common))
        source = builder.ReduceMax(builder.apply(name, (x, y), {}), axes=axes)
        yield Rule((source,), (builder.apply(name, (builder.ReduceMax(x, axes=axes), y), {}),))


def _sums(builder: Builder) -> Iterator[Rule]:
    """Sums and differences with two that rows have in common, and those in which these come together first.

    All are tried with all: which are equal, instances tell.
    """
    x = Var("x", parse_scheme(ALL))
    for common in (COMMON, FEATURE):
        one, other = (Var(letter, parse_scheme(common)) for letter in "yz")
        apart = [whole for near in _either_way(builder, x, one) for whole in _either_way(builder, near, other)]
        both_ways = _either_way(builder, one, other)
        together = [builder.Sub(x, both_ways[0]), *(builder.Add(both, x) for both in both_ways)]
        together += [builder.Sub(both, x) for both in both_ways]
        yield from (Rule((source,), (target,)) for source, target in product(apart, together))


def _either_way(builder: Builder, one: Term, other: Term) -> list[Term]:
    """The sum of two, and either of them less the other."""
    return [builder.Add(one, other), builder.Sub(one, other), builder.Sub(other, one)]
