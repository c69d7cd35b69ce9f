"""Discovers equations between scalar functions that hold where a constant lies within bounds, and not elsewhere.

Terms are enumerated as in `scalars`, at points where the constant lies within bounds and at points where it need not.
Terms that agree on the first alone make an equation with a condition, which is then stated as weakly as the points
allow. What is found holds at a few points; the verifier decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from taso_opt.core.condition import ALL_BOUNDS, AT_LEAST_1, AT_MOST_0, FROM_0_TO_1, Bounds, Condition
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var, variables
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.confirm import holds_in_floats
from taso_opt.generate.scalars import LARGEST, SPREAD, Operation, Values, operations, value_key
from taso_opt.semantics.conditions import fitted
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shapes import any_shape
from taso_opt.spec.text import format_rule

INSTANCES = 24
SAMPLES = 48
"""At so many points with the constant within the bounds, and at as many more wherever it lies."""

NARROW = (FROM_0_TO_1, AT_LEAST_1, AT_MOST_0)
"""Together they cover all numbers, so that no condition is missed: each is met by all of one of these."""


@dataclass(frozen=True)
class BoundedPool:
    """Operators over data, a constant `s` within bounds and other constants, and how many of them a side may have."""

    data: tuple[str, ...]
    others: tuple[str, ...]
    operators: tuple[str, ...]
    max_ops: int


def _pool(data: str, others: str, operators: str, max_ops: int) -> BoundedPool:
    return BoundedPool(tuple(data.split()), tuple(others.split()), tuple(operators.split()), max_ops)


CONSTANT = "s"
BOUNDED_POOLS = (
    _pool("x", "", "Relu Abs Max Min Mul Div PRelu", 2),
    _pool("x", "", "LeakyRelu Mul Div", 2),
    _pool("x", "t", "PRelu Mul Max", 2),
    _pool("x y", "", "Max Min Mul Div", 3),
)


def discover_bounded(library: SpecLibrary, max_ops: int, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidate equations with a condition over the named operators, in the order of their text form."""
    found: dict[str, Rule] = {}
    for pool, bounds in product(BOUNDED_POOLS, NARROW):
        names = [name for name in pool.operators if name in operators]
        enumeration = _Enumeration(library, pool, [library.operators[name] for name in names], bounds, seed)
        for rule in enumeration.equations(min(pool.max_ops, max_ops)):
            found[format_rule(rule)] = rule
    return tuple(found[text] for text in sorted(found))


@dataclass
class _Class:
    """Terms that agree within the bounds: one for each function that they are elsewhere."""

    first: Term
    elsewhere: set[bytes] = field(default_factory=set)


class _Enumeration:
    """One pool with the constant within some bounds: representatives of every size with their values."""

    def __init__(
        self, library: SpecLibrary, pool: BoundedPool, operators: Sequence[Operator], bounds: Bounds, seed: int
    ) -> None:
        self._builder: Builder = library.builder()
        self._bounds, self._seed = bounds, seed
        self._operations = [operation for operator in operators for operation in operations(operator)]
        generator = np.random.default_rng(seed)
        names = (*pool.data, CONSTANT, *pool.others)
        leaves: list[Term] = [Var(name, TensorType(REAL, (any_shape(name),))) for name in names]
        values = generator.uniform(-SPREAD, SPREAD, (len(names), 2 * SAMPLES))
        values[len(pool.data), :SAMPLES] = fitted(bounds, values[len(pool.data), :SAMPLES], ends=False)
        self._data = set(leaves[: len(pool.data)])
        self._levels: list[list[tuple[Term, Values]]] = [list(zip(leaves, values, strict=True))]
        self._classes = {value_key(row[:SAMPLES]): _Class(leaf, {value_key(row)}) for leaf, row in self._levels[0]}

    def equations(self, max_ops: int) -> Iterator[Rule]:
        """Every equation of at most so many operators a side, under the weakest condition that suits the points."""
        for size in range(1, max_ops + 1):
            level: list[tuple[Term, Values]] = []
            for term, row in self._applications(size):
                key = value_key(row[:SAMPLES])
                known = self._classes.get(key)
                if known is None:
                    self._classes[key] = _Class(term, {value_key(row)})
                    level.append((term, row))
                elif value_key(row) not in known.elsewhere:
                    known.elsewhere.add(value_key(row))
                    yield from self._stated(term, known.first)
            self._levels.append(level)

    def _applications(self, size: int) -> Iterator[tuple[Term, Values]]:
        for operation in self._operations:
            for sizes in product(range(size), repeat=int(operation.operator.arity or 1)):
                if sum(sizes) == size - 1:
                    yield from self._applied(operation, sizes)

    def _applied(self, operation: Operation, sizes: Sequence[int]) -> Iterator[tuple[Term, Values]]:
        operator = operation.operator
        for operands in product(*(self._levels[size] for size in sizes)):
            terms = [term for term, _ in operands]
            if not self._is_useful(operator, terms):
                continue
            row = operation.values(*(values for _, values in operands))
            if np.isfinite(row).all() and (np.abs(row) < LARGEST).all() and np.ptp(row[:SAMPLES]) > 0:
                yield self._builder.apply(operator.name, terms, operation.attributes), row

    def _is_useful(self, operator: Operator, operands: Sequence[Term]) -> bool:
        """Whether constants stand where models have them: as scales and slopes of data, and each of them once.

        Only what is done alike to both operands may bring the same constant along twice.
        """
        of_data = [not self._data.isdisjoint(variables([operand])) for operand in operands]
        constants = [set(variables([operand])) - self._data for operand in operands]
        shared = len(operands) == 2 and bool(constants[0] & constants[1])
        alike = len({operand.operator if isinstance(operand, Apply) else "" for operand in operands}) == 1
        if operator.name in ("Div", "PRelu"):
            return of_data == [True, False] and not shared
        if operator.name == "Mul":
            return sum(of_data) < len(operands) and not shared
        return any(of_data) and (not shared or (all(of_data) and alike and constants[0] == constants[1]))

    def _stated(self, term: Term, other: Term) -> Iterator[Rule]:
        """The equation under the weakest condition under which both sides agree at more points."""
        if set(variables([term])) != set(variables([other])) or not self._data <= set(variables([term])):
            return
        if self._builder.types(term) != self._builder.types(other):
            return
        for bounds in ALL_BOUNDS:
            rule = Rule((term,), (other,)).under([Condition(CONSTANT, bounds)])
            if self._bounds.within(bounds) and holds_in_floats(rule, self._builder, self._seed, INSTANCES):
                yield rule
                return
