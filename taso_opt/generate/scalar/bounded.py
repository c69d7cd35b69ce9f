"""Discovers equations between scalar functions that hold where a constant lies within bounds, and not elsewhere.

Terms are enumerated as in `functions`, at points where the constant lies within bounds and at points where it need not.
Terms that agree on the first alone make an equation with a condition, which is then stated as weakly as the points
allow. What is found holds at a few points; the verifier decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from taso_opt.core.condition import ALL_BOUNDS, AT_LEAST_1, AT_MOST_0, FROM_0_TO_1, Bounds, Condition
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var, postorder, variables
from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.generate.equations.confirm import holds_in_floats
from taso_opt.generate.equations.subsume import most_general
from taso_opt.generate.scalar.functions import LARGEST, SPREAD, Operation, Values, operations, value_key, with_images
from taso_opt.semantics.conditions import fitted
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.shapes import any_shape
from taso_opt.spec.text import format_rule

INSTANCES = 24
SAMPLES = 48
"""At so many points with the constant within the bounds, and at as many more wherever it lies."""

NARROW = (FROM_0_TO_1, AT_LEAST_1, AT_MOST_0)
"""Together they cover all numbers, so that no condition is missed: each is met by all of one of these."""


@dataclass(frozen=True)
class BoundedPool:
    """Operators over data, a constant `s` within bounds and other constants, and how many of them a side may have.

    Constants that are `numbers` are one element each.
    """

    data: tuple[str, ...]
    others: tuple[str, ...]
    operators: tuple[str, ...]
    max_ops: int
    numbers: tuple[str, ...]


def _pool(data: str, others: str, operators: str, max_ops: int, numbers: str = "") -> BoundedPool:
    names = tuple(data.split()), tuple(others.split()), tuple(operators.split())
    return BoundedPool(*names, max_ops, tuple(numbers.split()))


CONSTANT = "s"
BOUNDED_POOLS = (
    _pool("x", "", "Relu Abs Max Min Mul Div PRelu", 2),
    _pool("x", "", "Relu Abs Max Min Mul LeakyRelu", 2, numbers="s"),
    _pool("x", "t", "LeakyRelu Mul Div", 2, numbers="t"),
    _pool("x", "t", "LeakyRelu Mul", 2, numbers="s t"),
    _pool("x", "t", "PRelu Mul Max", 2),
    _pool("x y", "", "Max Min Mul Div", 3),
)


def discover_bounded(
    library: SpecLibrary, max_ops: int, seed: int, operators: frozenset[str], scalars: Sequence[Rule] = ()
) -> tuple[Rule, ...]:
    """Candidate equations with a condition over the named operators, in the order of their text form.

    What a function is under a condition, all its spellings among the `scalars`, equations without one, are as well.
    """
    found: dict[str, Rule] = {}
    for pool, bounds in product(BOUNDED_POOLS, NARROW):
        names = [name for name in pool.operators if name in operators]
        enumeration = _Enumeration(library, pool, [library.operators[name] for name in names], bounds, seed)
        for rule in enumeration.equations(min(pool.max_ops, max_ops)):
            found[format_rule(rule)] = rule
    for rule in _in_other_words(library.builder(), tuple(found.values()), scalars, seed):
        found[format_rule(rule)] = rule
    # What holds for any tensor is not said again of one number.
    return tuple(sorted(most_general(found.values(), library.builder()), key=format_rule))


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
        shapes = [() if name in pool.numbers else (any_shape(name),) for name in names]
        leaves: list[Term] = [Var(name, TensorType(REAL, shape)) for name, shape in zip(names, shapes, strict=True)]
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
                with suppress(TypeMismatch):  # a slope that has to be one number
                    yield self._builder.apply(operator.name, terms, operation.attributes), row

    def _is_useful(self, operator: Operator, operands: Sequence[Term]) -> bool:
        """Whether constants stand where models have them: as scales and slopes of data, and each of them once.

        Only what is done alike to both operands may bring the same constant along twice.
        """
        of_data = [not self._data.isdisjoint(variables([operand])) for operand in operands]
        constants = [set(variables([operand])) - self._data for operand in operands]
        shared = len(operands) == 2 and bool(constants[0] & constants[1])
        alike = len({operand.operator if isinstance(operand, Apply) else "" for operand in operands}) == 1
        if operator.name in ("Div", "LeakyRelu", "PRelu"):
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
        admitted = [bounds for bounds in ALL_BOUNDS if self._bounds.within(bounds)]
        yield from under_the_weakest(self._builder, Rule((term,), (other,)), admitted, self._seed)


def under_the_weakest(builder: Builder, equation: Rule, among: Sequence[Bounds], seed: int) -> Iterator[Rule]:
    """The equation under the first of some bounds on the constant under which it holds, if it does under any."""
    for bounds in among:
        rule = equation.under([Condition(CONSTANT, bounds)])
        if holds_in_floats(rule, builder, seed, INSTANCES):
            yield rule
            return


def _in_other_words(builder: Builder, bounded: Iterable[Rule], scalars: Sequence[Rule], seed: int) -> Iterator[Rule]:
    """The spellings of functions, each as what its function is under a condition.

    To make the function first may cost more than both: runtimes compute a PRelu slower than what it is made of.
    """
    for rule in bounded:
        for function, said in (rule.roots, reversed(rule.roots)):
            if not isinstance(function, Apply) or _applies(said, function.operator):
                continue
            for spelling, call in (rule.roots for rule in scalars):
                operands = _operands_of(function, call)
                if operands:
                    other = with_images(builder, said, operands)
                    yield from under_the_weakest(builder, Rule((spelling,), (other,)), ALL_BOUNDS, seed)


def _operands_of(function: Apply, call: Term) -> dict[Term, Term]:
    """What stands in a call of a function for its variables; nothing where it is called otherwise."""
    if not isinstance(call, Apply):
        return {}
    if (call.operator, call.attributes) != (function.operator, function.attributes):
        return {}
    operands = dict(zip(function.args, call.args, strict=True))
    return operands if len(operands) > 1 and all(isinstance(one, Var) for one in operands) else {}


def _applies(term: Term, operator: str) -> bool:
    """Whether an operator has a part in a term."""
    return any(isinstance(part, Apply) and part.operator == operator for part in postorder([term]))
