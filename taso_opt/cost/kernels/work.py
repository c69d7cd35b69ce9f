"""What a unit takes, counted: the bytes that it moves, the numbers that it multiplies, the weights it waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod

import numpy as np

from taso_opt.core.dims import Dim
from taso_opt.core.term import Apply
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.reuse import Read
from taso_opt.cost.kernels.units import Unit, UnitFinder, operands
from taso_opt.spec.builder import Builder

LOOKUP = "Gather"

UNKNOWN_ITEM_BYTES = 4

COMPUTE_BOUND = 32
"""Multiplications a byte beyond which a kernel no longer waits for memory: a product of 64 rows, 16 a byte, takes 1.2
to 1.4 times as long where its weights come from farther than the nearest cache, one of 128 rows no longer."""

BYTES_A_SECOND, MULTIPLICATIONS_A_SECOND, MOST_COUNTED = 1e10, 3e10, 1 << 62
"""Of one core, by their order of magnitude; units that cannot be measured may have absurd sizes."""


FUNCTION = "function"
"""What a kernel applies to its result: weights are packed once for all of these."""


def awaited(unit: Unit, builder: Builder, finder: UnitFinder) -> list[Read]:
    """The weights that a unit waits for: none where it is the arithmetic, or other operands, that takes the time.

    Of tables only a few rows are read.
    """
    outside = operands(unit)
    applied = [member for member in unit.members if isinstance(member, Apply)]
    kernel = frozenset(FUNCTION if len(member.args) == 1 else member.operator for member in applied)
    tables = {lookup.args[0] for lookup in lookups(unit)}
    weights = [operand for operand in outside if finder.is_constant(operand) and operand not in tables]
    reads = [Read((one, kernel), type_bytes(builder.type(one))) for one in weights]
    rest = sum(type_bytes(builder.type(operand)) for operand in outside if not finder.is_constant(operand))
    size = sum(read.size for read in reads)
    return [] if size < rest or is_compute_bound(unit, builder, size) else reads


def lookups(unit: Unit) -> list[Apply]:
    """The members of a unit that look up rows, or what lies along another axis."""
    return [member for member in unit.members if isinstance(member, Apply) and member.operator == LOOKUP]


def is_compute_bound(unit: Unit, builder: Builder, size: int) -> bool:
    """Whether it is the arithmetic of a unit that takes the time, not so many bytes that it waits for."""
    return unit_work(unit, builder) > COMPUTE_BOUND * size


def table_bytes(unit: Unit, builder: Builder) -> int:
    """The bytes of what a unit looks up in, of which it reads little more than it finds."""
    tables = {lookup.args[0] for lookup in lookups(unit)}
    return sum(type_bytes(builder.type(operand)) for operand in operands(unit) if operand in tables)


def unit_bytes(unit: Unit, builder: Builder) -> int:
    """The bytes of everything that goes in and out of the members of a unit, once."""
    results = sum(type_bytes(kind) for member in unit.members for kind in builder.types(member))
    return results + sum(type_bytes(builder.type(operand)) for operand in operands(unit))


def kernel_bytes(unit: Unit, builder: Builder) -> int:
    """The bytes of what a unit reads and gives; what stays inside it is never stored."""
    return result_bytes(unit, builder) + sum(type_bytes(builder.type(operand)) for operand in operands(unit))


def result_bytes(unit: Unit, builder: Builder) -> int:
    """The bytes of what a unit gives."""
    return sum(type_bytes(kind) for root in unit.roots for kind in builder.types(root))


def constant_bytes(unit: Unit, builder: Builder, finder: UnitFinder) -> int:
    """The bytes of the weights that a unit reads."""
    return sum(type_bytes(builder.type(operand)) for operand in operands(unit) if finder.is_constant(operand))


def type_bytes(kind: TensorType) -> int:
    """The bytes of a value; none where its size is unknown."""
    return _item_bytes(kind.dtype) * (kind.elements or 0)


@lru_cache
def _item_bytes(dtype: str) -> int:
    try:
        return np.dtype(dtype).itemsize
    except TypeError:
        return UNKNOWN_ITEM_BYTES


def multiplications(unit: Unit, builder: Builder) -> int:
    """The multiplications that the products and convolutions of a unit take; 0 without any."""
    return sum(term_multiplications(one, builder) for one in unit.members if isinstance(one, Apply))


def term_multiplications(term: Apply, builder: Builder) -> int:
    """The multiplications that the products inside an operator take; 0 of one that makes none."""
    return _MULTIPLICATIONS[term.operator](term, builder) if term.operator in _MULTIPLICATIONS else 0


def _of_product(term: Apply, builder: Builder) -> int:
    return _elements(term, builder) * _known(builder.type(term.args[0]).shape[-1:])


def _of_convolution(term: Apply, builder: Builder) -> int:
    return _elements(term, builder) * _known(builder.type(term.args[1]).shape[1:])


def _of_attention(term: Apply, builder: Builder) -> int:
    queries, keys, values = (builder.type(operand).shape for operand in term.args[:3])
    return _known(queries[:-1]) * _known(keys[-2:-1]) * (_known(queries[-1:]) + _known(values[-1:]))


def _of_recurrence(term: Apply, builder: Builder) -> int:
    elements, of_element, of_state = (builder.type(operand).shape for operand in term.args[:3])
    return _known(elements[:2]) * (_known(of_element) + _known(of_state))


_MULTIPLICATIONS: Mapping[str, Callable[[Apply, Builder], int]] = {
    "Attention": _of_attention,
    "Conv": _of_convolution,
    "GRU": _of_recurrence,
    "LSTM": _of_recurrence,
    "MatMul": _of_product,
    "RNN": _of_recurrence,
}


def _elements(term: Apply, builder: Builder) -> int:
    return sum(kind.elements or 0 for kind in builder.types(term))


def _known(shape: tuple[Dim, ...]) -> int:
    """The product of the sizes that are numbers."""
    return prod(dim for dim in shape if isinstance(dim, int))


def unit_work(unit: Unit, builder: Builder) -> int:
    """About how many multiplications, or elements moved, a unit takes; at least 1."""
    members = [member for member in unit.members if isinstance(member, Apply)]
    others = [member for member in members if member.operator not in _MULTIPLICATIONS]
    moved = sum(kind.elements or 0 for member in others for kind in builder.types(member))
    return 1 + moved + multiplications(unit, builder)


def rough_seconds(unit: Unit, builder: Builder) -> float:
    """The cost of a unit by the bytes that it moves and the numbers that it multiplies, within a factor of ten."""
    moved = min(unit_bytes(unit, builder) - table_bytes(unit, builder), MOST_COUNTED)
    multiplied = min(multiplications(unit, builder), MOST_COUNTED)
    return moved / BYTES_A_SECOND + multiplied / MULTIPLICATIONS_A_SECOND
