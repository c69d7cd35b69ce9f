"""Candidates about windows that lie side by side: what is taken of every block of an image or a line is a pooling.

Frameworks without poolings, and people who know numpy, give each block axes of its own and take the mean or the
greatest over these. A pooling is one operator, which moves to where less is computed and into products along lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Var
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.schemes.layout import reshaped
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary


@dataclass(frozen=True)
class Adjoining:
    """What is taken of all elements of a block, the pooling that takes it, and how many blocks of which sides."""

    reduction: str
    pooling: str
    values: Mapping[str, Attribute]
    counts: tuple[Dim, ...]
    sides: tuple[Dim, ...]


MEAN, GREATEST = (
    ("ReduceMean", "AveragePool", {"count_include_pad": 0}),
    ("ReduceMax", "MaxPool", {"dilations": (1, 1)}),
)
LEADING, W, HW, SIDE, SIDES = (tuple(map(symbol, names)) for names in ("nc", "w", "hw", "k", "kl"))
FORMS = (
    Adjoining(*MEAN, W, SIDE),
    Adjoining(*MEAN, HW, SIDES),
    Adjoining(*GREATEST, HW, SIDES),
)


def discover_adjoining(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about adjoining windows, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed((_rule(builder, form) for form in FORMS), builder, seed, operators)


def _rule(builder: Builder, form: Adjoining) -> Rule:
    """Each block reduced, which has axes of its own, and a pooling whose windows are the blocks."""
    blocks = tuple(zip(form.counts, form.sides, strict=True))
    x = Var("x", TensorType(REAL, (*LEADING, *(count * side for count, side in blocks))))
    apart = reshaped(builder, x, (*LEADING, *chain.from_iterable(blocks)))
    reduced = builder.apply(form.reduction, (apart,), {"axes": tuple(range(1 - 2 * len(blocks), 0, 2))})
    windows = {"kernel": form.sides, "strides": form.sides, "pads": (0, 0) * len(blocks), **form.values}
    pooled = builder.apply(form.pooling, (x,), windows)
    return Rule((reduced,), (reshaped(builder, pooled, builder.type(reduced).shape),))
