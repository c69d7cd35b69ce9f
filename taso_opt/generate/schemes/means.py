"""Candidates about means and sums: the mean of what a linear operator gives is what it gives for means.

Behind a mean over tokens or pixels the operator has only one of them to compute. As with slices, each operator is
applied to operands with axes of the sizes that are averaged, and what type-checks and agrees in floats is a candidate.
What is taken over one axis and then over another is taken over both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import confirmed, passed
from taso_opt.generate.schemes.taken import TAKEN
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary


def discover_means(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a mean or a sum meets one of the named operators, in the order of their text form."""
    builder = library.builder()
    rules = (*_candidates(library, builder, operators), *_one_after_the_other(builder))
    return confirmed(rules, builder, seed, operators)


def _one_after_the_other(builder: Builder) -> Iterator[Rule]:
    """What is taken over rows and columns, in either order."""
    x = Var("x", parse_scheme("*b h w"))
    for name, axes in product(("ReduceMax", "ReduceMean", "ReduceSum"), permutations((-2, -1))):
        apart: Term = x
        for axis in axes:
            apart = builder.apply(name, (apart,), {"axes": (axis,)})
        yield Rule((apart,), (builder.apply(name, (x,), {"axes": (-2, -1)}),))


def _candidates(library: SpecLibrary, builder: Builder, operators: frozenset[str]) -> Iterator[Rule]:
    for taken, how in TAKEN.items():
        for name, cut in how.forms(library) if taken in operators else ():
            rule = passed(builder, name, cut, how.take, how.kept)
            if rule is not None:
                yield rule
