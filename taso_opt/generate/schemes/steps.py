"""Candidates about the steps of a sequence, taken one by one and joined again: they are all rows of one matrix.

Recurrent cells and towers that are written out take each step out of a tensor, and what multiplies all of them by the
same weights joins them as rows. Where steps are matrices of a stack, the law is one for any number of them; where they
lie side by side in one row, it is one for each number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

from taso_opt.core.dims import Dim, symbol, total
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

COUNTS = range(2, 17)
"""How many steps lie side by side."""

COLUMNS, ROWS, STACKED = -1, -2, -3
"""The axes along which columns, rows and matrices are joined."""

TURNED = (-2, -3, -1)

Shapes: TypeAlias = Sequence[tuple[Dim, ...]]


def discover_steps(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about steps that are joined, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed((*_stacked(builder), *_side_by_side(builder)), builder, seed, operators)


def _stacked(builder: Builder) -> Iterator[Rule]:
    """Matrices of a stack as rows of one matrix, and rows of one as matrices of a stack."""
    p, q, r, k = map(symbol, "pqrk")
    stacks, rows = ([(size, q, k) for size in (p, r)], [(size * q, k) for size in (p, r)])
    yield _joined(builder, stacks, STACKED, rows, ROWS)
    yield _joined(builder, rows, ROWS, stacks, STACKED)


def _joined(builder: Builder, shapes: Shapes, axis: int, wanted: Shapes, behind: int) -> Rule:
    """What was brought into other shapes and joined, joined before."""
    tensors = [Var(name, TensorType(REAL, shape)) for name, shape in zip("xy", shapes, strict=True)]
    moved = [reshaped(builder, tensor, shape) for tensor, shape in zip(tensors, wanted, strict=True)]
    whole = list(wanted[0])
    whole[behind] = total(shape[behind] for shape in wanted)
    joined = builder.apply("Concat", tensors, {"axis": axis})
    return Rule((builder.apply("Concat", moved, {"axis": behind}),), (reshaped(builder, joined, tuple(whole)),))


def _side_by_side(builder: Builder) -> Iterator[Rule]:
    """Steps that lie side by side in one row, or in each of several, joined as rows; and rows joined side by side."""
    n = symbol("n")
    one_or_many: tuple[Dim, Dim] = (1, symbol("b"))
    for count, rows in product(COUNTS, one_or_many):
        wide, tall = (rows, count * n), (count * rows, n)
        x, y = (Var("x", TensorType(REAL, shape)) for shape in (wide, tall))
        beside, below = _parts(builder, x, COLUMNS, [n] * count), _parts(builder, y, ROWS, [rows] * count)
        for parts, axis, before, apart, behind in (
            (beside, ROWS, x, (rows, count, n), tall),
            (below, COLUMNS, y, (count, rows, n), wide),
        ):
            turned = before if rows == 1 else transposed(builder, reshaped(builder, before, apart), TURNED)
            yield Rule((builder.apply("Concat", parts, {"axis": axis}),), (reshaped(builder, turned, behind),))


def _parts(builder: Builder, x: Var, axis: int, sizes: Sequence[Dim]) -> list[Term]:
    split = builder.apply("Split", (x,), {"axis": axis, "sizes": tuple(sizes)})
    return [builder.item(split, at) for at in range(len(sizes))]
