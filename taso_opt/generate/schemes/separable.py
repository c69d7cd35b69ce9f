"""Candidates in which a window slides along one axis after the other: a pooling of rows, then one of columns.

A window of k by k elements looks at k * k of them for each result, two that are k long at 2 * k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

Attributes = Mapping[str, Attribute]

ANY: Attributes = {"strides": ANY_WINDOWS["strides"], "pads": ANY_WINDOWS["pads"], **ANY_KERNEL}
POOLINGS: Mapping[str, tuple[Attributes, ...]] = {
    "AveragePool": tuple({**ANY, "count_include_pad": counted} for counted in (0, 1)),
    "MaxPool": ({**ANY, "dilations": (1, 1)},),
}
DOWN, ACROSS = 0, 1


def discover_separable(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates that take the named poolings apart, in the order of their text form."""
    builder = library.builder()
    return confirmed(_rules(builder), builder, seed, operators)


def _rules(builder: Builder) -> Iterator[Rule]:
    x = Var("x", parse_scheme("n c h w"))
    for name, choices in POOLINGS.items():
        for windows in choices:
            apart: Term = x
            for axis in (DOWN, ACROSS):
                apart = builder.apply(name, (apart,), _along(axis, windows))
            yield Rule((builder.apply(name, (x,), windows),), (apart,))


def _along(axis: int, windows: Attributes) -> dict[str, Attribute]:
    """The windows of one axis alone: along the other they have one element each."""
    return {name: _kept(name, value, axis) for name, value in windows.items()}


def _kept(name: str, value: Attribute, axis: int) -> Attribute:
    if not isinstance(value, tuple):
        return value
    nothing = 0 if name == "pads" else 1
    return tuple(one if at % 2 == axis else nothing for at, one in enumerate(value))
