"""Candidates about means and sums: the mean of what a linear operator gives is what it gives for means.

Behind a mean over tokens or pixels the operator has only one of them to compute. As with slices, each operator is
applied to operands with axes of the sizes that are averaged, and what type-checks and agrees in floats is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator

from taso_opt.core.rule import Rule
from taso_opt.generate.schemes.passing import confirmed, passed
from taso_opt.generate.schemes.taken import TAKEN
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary


def discover_means(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a mean or a sum meets one of the named operators, in the order of their text form."""
    builder = library.builder()
    return confirmed(_candidates(library, builder, operators), builder, seed, operators)


def _candidates(library: SpecLibrary, builder: Builder, operators: frozenset[str]) -> Iterator[Rule]:
    for taken, how in TAKEN.items():
        for name, cut in how.forms(library) if taken in operators else ():
            rule = passed(builder, name, cut, how.take, how.kept)
            if rule is not None:
                yield rule
