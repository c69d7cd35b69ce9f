"""Candidates about rows that lie in another shape: what is computed row by row passes what keeps the rows whole.

Converters write matrices where a model has rows of a batch, and back: each such change of shape stands between two
operators that a runtime computes in one kernel else, or keeps it from a kernel that is slower.
"""

from __future__ import annotations

from collections.abc import Iterator

from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.layout import reshaped
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

ROWS, OTHERWISE = "*b m", "*s m"
"""Rows, and the same rows in another shape."""

NUMBER, COLUMNS = "", "m"
"""What all rows have in common: a number, as the summand of a variance, or one for each column."""

AXIS: dict[str, Attribute] = {"axis": -1}

ROW_BY_ROW: tuple[tuple[str, tuple[str, ...], dict[str, Attribute]], ...] = (
    *(("LayerNormalization", (NUMBER, *affine), {}) for affine in ((), (COLUMNS,), (COLUMNS, COLUMNS))),
    *(("RMSNormalization", (NUMBER, *scale), {}) for scale in ((), (COLUMNS,))),
    *((name, (), AXIS) for name in ("Softmax", "LogSoftmax")),
)
"""What is computed row by row: the operator, its operands beside the rows, and its attributes."""

ELEMENT_BY_ELEMENT = ("Add", "Sub", "Mul")
"""What takes an element of each of two operands: one of them may have to lie as the other does."""


def discover_rows(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about rows in another shape, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed((*_row_by_row(builder), *_element_by_element(builder)), builder, seed, operators)


def _row_by_row(builder: Builder) -> Iterator[Rule]:
    x, shape = Var("x", parse_scheme(ROWS)), parse_scheme(OTHERWISE).shape
    for name, others, attributes in ROW_BY_ROW:
        beside = [Var(letter, parse_scheme(scheme)) for letter, scheme in zip("yzw", others, strict=False)]
        behind = builder.apply(name, (reshaped(builder, x, shape), *beside), attributes)
        before = builder.apply(name, (x, *beside), attributes)
        yield Rule((behind,), (reshaped(builder, before, shape),))


def _element_by_element(builder: Builder) -> Iterator[Rule]:
    """Two operands of which one is laid out anew: instead the other one and the result are."""
    x, y = Var("x", parse_scheme("*b")), Var("y", parse_scheme("*s"))
    x_as_y, y_as_x = reshaped(builder, x, y.type.shape), reshaped(builder, y, x.type.shape)
    for name in ELEMENT_BY_ELEMENT:
        for behind, before in (((x_as_y, y), (x, y_as_x)), ((y, x_as_y), (y_as_x, x))):
            result = reshaped(builder, builder.apply(name, before, {}), y.type.shape)
            yield Rule((builder.apply(name, behind, {}),), (result,))
