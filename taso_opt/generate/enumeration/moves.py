"""The ways to build a larger term in one shard of a family: an operator, its attributes and how many operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from taso_opt.core.dims import STAR, Size, symbol
from taso_opt.core.term import Attribute, Attributes, Var, attributes_of
from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.generate.enumeration.families import OTHER_MODES_OPS, Mode, Pool
from taso_opt.semantics.instances import instantiate_attribute
from taso_opt.spec import load_specs
from taso_opt.spec.operator import Operator

SPLIT = "Split"


@dataclass(frozen=True, eq=False)
class Move:
    """An operator with symbolic attributes, and the same attributes at each shape set.

    There is one object for each move of a process, made by `move`, so that they are compared and hashed quickly. Moves
    travel between processes by the names of their operators, among those that ship with the tool.
    """

    operator: Operator
    attributes: Attributes
    concrete: tuple[Mapping[str, Any], ...]
    arity: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (self.operator.name, self.attributes, self.concrete, self.arity)

    @property
    def joins(self) -> bool:
        """Whether this is a movement of any number of tensors: three of them say the same as two twice."""
        return self.operator.arity is None and not self.operator.arithmetic

    @property
    def takes_data(self) -> bool:
        """Whether the first operand is data and all others are weights, where a pool tells them apart."""
        mixes = self.operator.arithmetic and not self.operator.weights_only
        product = mixes and self.arity > 1 and not is_broadcasting(self.operator)
        return product or any(name == "strides" for name, _ in self.attributes)


def move(operator: Operator, attributes: Attributes, concrete: Sequence[Mapping[str, Any]], arity: int) -> Move:
    """The move with these parts."""
    key = (id(operator), attributes, repr(concrete), arity)
    if key not in _MOVES:
        _MOVES[key] = Move(operator, attributes, tuple(concrete), arity)
    return _MOVES[key]


_MOVES: dict[tuple[int, Attributes, str, int], Move] = {}
"""A move keeps its operator alive, so that no other gets the same id."""


def _sent(name: str, attributes: Attributes, concrete: Sequence[Mapping[str, Any]], arity: int) -> Move:
    """A move that was sent from another process."""
    return move(load_specs().operators[name], attributes, concrete, arity)


@dataclass(frozen=True)
class Shard:
    """A pool with the variables and operators explored together and at most one choice of strides and pads."""

    pool: Pool
    variables: tuple[Var, ...]
    operators: frozenset[str]
    mode: Mode | None

    def max_ops(self, asked: int) -> int:
        """How many operators its terms have at most."""
        limit = min(asked + self.pool.deeper, self.pool.max_ops)
        return limit if self.mode is None or self.mode in self.pool.modes else min(limit, OTHER_MODES_OPS)


def shards(pool: Pool, operators: Mapping[str, Operator]) -> list[Shard]:
    """The parts in which a pool is explored, in a fixed order."""
    allowed = {name: operator for name, operator in sorted(operators.items()) if name not in pool.without}
    if not pool.apart:
        return [Shard(pool, pool.variables, frozenset(allowed), None)]
    maps = [name for name in allowed if is_map(allowed[name])]
    broadcasting = [name for name in allowed if is_broadcasting(allowed[name])]
    others = set(allowed) - set(maps) - set(broadcasting)
    modes: Sequence[Mode | None] = _modes(list(allowed.values()), pool) if pool.modes else []
    together = combinations(broadcasting, min(pool.together, len(broadcasting)))
    found = [
        Shard(pool, pool.variables, frozenset(others | set(names)), mode)
        for names in together
        for mode in modes or (None,)
    ]
    if pool.maps:
        # Without an operator that broadcasts, a tensor of lower rank meets no other.
        rank = max(variable.type.rank for variable in pool.variables)
        widest = tuple(variable for variable in pool.variables if variable.type.rank == rank)
        found += [Shard(pool, widest, frozenset(others | {name}), None) for name in maps]
    return found


def is_map(operator: Operator) -> bool:
    """Whether an operator maps a scalar function: one operand, no attributes, any shape kept."""
    if operator.arity != 1 or operator.choices or operator.outputs != 1:
        return False
    probes = [TensorType(REAL, tuple(symbol(name) for name in names)) for names in ("", "a", "abcd")]
    try:
        return all(operator.result_types([probe], {}) == (probe,) for probe in probes)
    except (TypeMismatch, TypeError):
        return False


def is_broadcasting(operator: Operator) -> bool:
    """Whether an operator combines two tensors element by element with broadcasting."""
    if operator.arity != 2 or operator.choices or operator.outputs != 1:
        return False
    matrix, row, scalar = (TensorType(REAL, tuple(symbol(name) for name in names)) for names in ("ab", "b", ""))
    try:
        pairs = [(matrix, matrix), (matrix, row), (matrix, scalar), (row, row)]
        return all(operator.result_types(pair, {}) == (pair[0],) for pair in pairs)
    except (TypeMismatch, TypeError):
        return False


def moves(shard: Shard, operators: Mapping[str, Operator]) -> list[Move]:
    """Every move of a shard except splits, in a fixed order."""
    return [
        move(operator, attributes_of(choice), _concrete(choice, shard.pool), arity)
        for name, operator in sorted(operators.items())
        if name != SPLIT and name in shard.operators
        for choice in _choices(operator, shard)
        for arity in _arities(operator, shard.pool)
    ]


def _arities(operator: Operator, pool: Pool) -> tuple[int, ...]:
    if operator.arity is not None:
        return (operator.arity,)
    return (2, 3) if operator.arithmetic or pool.threes else (2,)


def split_moves(kind: TensorType, operator: Operator, pool: Pool) -> list[Move]:
    """Every way to cut a tensor in two where its symbolic size is a sum."""
    found = []
    for at, dim in enumerate(kind.shape):
        for sizes in _cuts(dim):
            values: dict[str, Attribute] = {"axis": at - kind.rank, "sizes": sizes}
            try:
                operator.result_types([kind], values)
            except TypeMismatch:
                continue
            found.append(move(operator, attributes_of(values), _concrete(values, pool), 1))
    return found


def _cuts(dim: Any) -> Iterator[tuple[Attribute, Attribute]]:
    if not isinstance(dim, Size) or (len(dim.terms) != 2 and not _is_double(dim)):
        return
    parts = [Size(((monomial, 1),)) for monomial, count in dim.terms for _ in range(count)]
    if len(parts) == 2 and all(part.symbol is not None for part in parts):
        yield from dict.fromkeys([(parts[0], parts[1]), (parts[1], parts[0])])


def _is_double(dim: Size) -> bool:
    return len(dim.terms) == 1 and dim.terms[0][1] == 2


def _choices(operator: Operator, shard: Shard) -> Iterator[Mapping[str, Attribute]]:
    if not operator.choices:
        yield {}
        return
    for choice in _declared(operator, shard.pool):
        if shard.mode is None or "strides" not in choice or _mode(choice) == shard.mode:
            yield choice
    yield from _shapes(operator, shard.pool)


def _declared(operator: Operator, pool: Pool) -> list[Mapping[str, Attribute]]:
    return [choice for family in pool.families for choice in operator.choices.get(family, ())]


def _shapes(operator: Operator, pool: Pool) -> Iterator[Mapping[str, Attribute]]:
    """Shapes of a pool for an operator that takes any: those named, and the stars of variables, to undo a change."""
    stars = [(dim,) for one in pool.variables for dim in one.type.shape if isinstance(dim, Size) and dim.is_star]
    for choice in operator.choices.get("shape", ())[:1]:
        for name, value in choice.items():
            if isinstance(value, tuple) and len(value) == 1 and str(value[0]).startswith(STAR):
                yield from ({name: shape} for shape in dict.fromkeys((*pool.shapes, *stars)))


def _modes(operators: Sequence[Operator], pool: Pool) -> list[Mode]:
    choices = [choice for operator in operators for choice in _declared(operator, pool) if "strides" in choice]
    return list(dict.fromkeys(map(_mode, choices)))


def _mode(choice: Mapping[str, Attribute]) -> Mode:
    return choice["strides"], choice["pads"]


def _concrete(values: Mapping[str, Attribute], pool: Pool) -> tuple[dict[str, Any], ...]:
    return tuple({name: instantiate_attribute(value, sizes) for name, value in values.items()} for sizes in pool.sizes)
