"""Candidates about the rows of several matrices as those of one: products with weights and sums with one row pass."""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.layout import reshaped
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.library import SpecLibrary

ROWS, WEIGHTS, BIAS = "b m k", "k n", "k"
"""Several matrices, what each row is multiplied by, and what is added to it."""

ROWS_OF_ONE = {"MatMul": (WEIGHTS, "b*m n", "b*m k"), "Add": (BIAS, "b*m k", "b*m k")}
"""The other operand, and the shapes of the result and of the operand with their rows as those of one matrix."""


def discover_flattened(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which rows are merged behind one of the named operators or before it, in the order of the text."""
    builder = library.builder()
    x = Var("x", parse_scheme(ROWS))
    rules = []
    for name, (scheme, result, operand) in ROWS_OF_ONE.items():
        y = Var("y", parse_scheme(scheme))
        behind = reshaped(builder, builder.apply(name, (x, y), {}), parse_scheme(result).shape)
        before = builder.apply(name, (reshaped(builder, x, parse_scheme(operand).shape), y), {})
        rules.append(Rule((behind,), (before,)))
    return confirmed(rules, builder, seed, operators)
