"""Candidates about repeated operands: where an operator broadcasts, an operand need not be repeated before.

Each operator that broadcasts is applied to a full operand and to one that is repeated to what the full one needs; where
the result has the same type and, in floats, the same values without that, it is a candidate. Where each of some
matrices is repeated for several others, as those of keys and values are for the heads of a group (grouped-query
attention; Ainslie et al., 2023), products with one matrix are tried as one product with all their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import DOES_NOT_FIT, confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

EXPAND = "Expand"
ELEMENTS = (
    *("*b n; n; *b n", "*b n; *b 1; *b n", "*b n; ; *b n", "*b m n; 1 n; *b m n", "*b m n; *b 1 n; *b m n"),
    *("*b c h w; c 1 1; *b c h w", "*b c h w; *b c 1 1; *b c h w"),
)
MATRICES = (
    *("*b k n; k n; *b m k", "*b m k; m k; *b k n"),
    *("*b r k n; *b 1 k n; *b r m k", "*b r m k; *b 1 m k; *b r k n"),
)
FORMS = {**dict.fromkeys(("Add", "Div", "Max", "Min", "Mul", "PRelu", "Sub"), ELEMENTS), "MatMul": MATRICES}
"""What an operand is repeated to, what it is before, and the other operand."""

PAIR, PAIRS = ("*b m 1 k", "*b 1 n k"), "*b m n k"
"""Two operands that are repeated along an axis each, and what to."""

GROUPED = "*b g*r m k"
"""Matrices in groups, of which each is multiplied by a matrix of its group."""


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
    for name in sorted(name for name, forms in FORMS.items() if forms is ELEMENTS):
        x, y = (Var(f"x{at}", parse_scheme(scheme)) for at, scheme in enumerate(PAIR))
        full = {"shape": parse_scheme(PAIRS).shape}
        repeated = [builder.apply(EXPAND, (one,), full) for one in (x, y)]
        yield Rule((builder.apply(name, repeated, {}),), (builder.apply(name, (x, y), {}),))
    yield from _of_groups(builder)


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


def _of_groups(builder: Builder) -> Iterator[Rule]:
    """The products of a group's matrices with one of its own, plain or transposed, as one product of all their rows."""
    x = Var("x", parse_scheme(GROUPED))
    *rest, _, rows, inner = x.type.shape
    groups, members = symbol("g"), symbol("r")
    for scheme, turn in (("*b g k l", lambda term: term), ("*b g l k", lambda term: transposed(builder, term))):
        y = Var("y", parse_scheme(scheme))
        sizes = y.type.shape[-2:]
        apart = reshaped(builder, y, (*rest, groups, 1, *sizes))
        repeated = builder.apply(EXPAND, (apart,), {"shape": (*rest, groups, members, *sizes)})
        source = _product(builder, x, turn(reshaped(builder, repeated, (*rest, groups * members, *sizes))))
        joined = reshaped(builder, x, (*rest, groups, members * rows, inner))
        target = _product(builder, joined, turn(y))
        yield Rule((source,), (reshaped(builder, target, builder.type(source).shape),))


def _product(builder: Builder, x: Term, y: Term) -> Term:
    return builder.apply("MatMul", (x, y), {})
