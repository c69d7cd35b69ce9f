"""Symbols in place of the numbers that attributes of windows have in an equation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from taso_opt.core.dims import Dim, symbol, total
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term
from taso_opt.generate.equations.retype import Schemes
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

PADS = "pads"
WINDOW_ATTRIBUTES = tuple({**ANY_WINDOWS, **ANY_KERNEL})


def window_values(rule: Rule) -> list[tuple[str, str, Attribute]]:
    """Operators, names and values of the attributes of windows that are numbers."""
    values = [
        (one.operator, name, value)
        for one in rule.applications
        for name, value in one.attributes
        if name in WINDOW_ATTRIBUTES and isinstance(value, tuple)
    ]
    return list(dict.fromkeys(values))


def is_wide(pads: Attribute) -> bool:
    """Whether these are pads in numbers, some of them not zero."""
    return isinstance(pads, tuple) and any(pads) and all(isinstance(pad, int) for pad in pads)


def symbolic(rule: Rule, chosen: Sequence[tuple[str, str, Attribute]]) -> Schemes:
    """Symbols in place of some attributes of windows, the same for equal values of one name; sums for sums of pads."""
    attributes: dict[Term, dict[str, Attribute]] = {}
    pads = list(dict.fromkeys(value for _, name, value in chosen if name == PADS and is_wide(value)))
    for one in rule.applications:
        for name, value in one.attributes:
            if (one.operator, name, value) in chosen and isinstance(value, tuple):
                summands = _summands(value, pads) if name == PADS else [value]
                columns = zip(*(_symbols(name, summand) for summand in summands), strict=True)
                attributes.setdefault(one, {})[name] = tuple(map(total, columns))
    return Schemes({}, attributes)


def _symbols(name: str, value: tuple[Attribute, ...]) -> list[Dim]:
    return [symbol(f"{name}{place}_{_word(str(value))}") for place in range(len(value))]


def _summands(value: tuple[Attribute, ...], others: Sequence[Any]) -> list[tuple[Attribute, ...]]:
    """Two other pads that are these together, where there are such; else these."""
    for pair in combinations((other for other in others if len(other) == len(value)), 2):
        if value == tuple(map(sum, zip(*pair, strict=True))):
            return list(pair)
    return [value]


def _word(text: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in text)
