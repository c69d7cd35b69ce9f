"""Candidates about repeated operands: where an operator broadcasts, an operand need not be repeated before.

Each operator that broadcasts is applied to a full operand and to one that is repeated to what the full one needs; where
the result has the same type and, in floats, the same values without that, it is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from taso_opt.core.rule import Rule
from taso_opt.core.term import Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import DOES_NOT_FIT, confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

EXPAND = "Expand"
ELEMENTS = (
    *("*b n; n; *b n", "*b n; *b 1; *b n", "*b n; ; *b n", "*b m n; 1 n; *b m n", "*b m n; *b 1 n; *b m n"),
    *("*b c h w; c 1 1; *b c h w", "*b c h w; *b c 1 1; *b c h w"),
)
MATRICES = ("*b k n; k n; *b m k", "*b m k; m k; *b k n", "b k n; 1 k n; b m k", "b m k; 1 m k; b k n")
FORMS = {**dict.fromkeys(("Add", "Div", "Max", "Min", "Mul", "PRelu", "Sub"), ELEMENTS), "MatMul": MATRICES}
"""What an operand is repeated to, what it is before, and the other operand."""


def discover_expansions(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which one of the named operators repeats an operand by itself, in the order of their text form."""
    if EXPAND not in operators:
        return ()
    builder = library.builder()
    return confirmed(_candidates(builder), builder, seed, operators)


def _candidates(builder: Builder) -> Iterator[Rule]:
    whole = Var("x0", parse_scheme("*a"))
    yield Rule((builder.apply(EXPAND, (whole,), {"shape": whole.type.shape}),), (whole,))
    for name, forms in FORMS.items():
        for form, first in product(forms, (True, False)):
            rule = _repeated(builder, name, form, first)
            if rule is not None:
                yield rule


def _repeated(builder: Builder, name: str, form: str, first: bool) -> Rule | None:
    """An operator on a repeated operand, the first or the second one, and without; None when these do not fit."""
    full, small, other = map(parse_scheme, form.split(";"))
    x, y = Var("x0", small), Var("x1", other)
    try:
        repeated = builder.apply(EXPAND, (x,), {"shape": full.shape})
        source, target = (builder.apply(name, (one, y) if first else (y, one), {}) for one in (repeated, x))
        fits = builder.type(source) == builder.type(target)
    except DOES_NOT_FIT:
        return None
    return Rule((source,), (target,)) if fits else None
