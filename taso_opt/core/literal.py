"""Literals: constants of one element whose value is part of a term, such as the 3 and 1/6 of a hard swish."""

from __future__ import annotations

from fractions import Fraction

from taso_opt.core.term import Const, Term
from taso_opt.core.types import REAL, TensorType

PREFIX = "literal "
"""What the names of literals begin with; no constant that a model names this way is taken for a constant."""


def literal(value: Fraction | int, dtype: str = REAL) -> Const:
    """The scalar of that value."""
    return Const(f"{PREFIX}{Fraction(value)}", TensorType(dtype, ()))


def literal_value(term: Term) -> Fraction | None:
    """The value of a literal, None for every other term."""
    if not isinstance(term, Const) or not term.name.startswith(PREFIX):
        return None
    return Fraction(term.name.removeprefix(PREFIX))
