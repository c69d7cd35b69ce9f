"""Discovers equations between scalar functions: element-wise expressions that agree on random real numbers.

Residues, on which the other families are fingerprinted, have no order, so these functions are evaluated in float64.
As there (section 2.3 of the paper) terms are built bottom-up, with one representative for each class of equal values,
and a term that contains a reducible one is never built. What is found holds at a few points; the verifier decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.literal import literal, literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Const, Term, Var, postorder, variables
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.scalar.pools import IN_TURN, OPERAND, SCALAR_POOLS, ScalarPool
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.elementwise import SCALARS
from taso_opt.spec.shared.shapes import any_shape
from taso_opt.spec.text import format_rule

SAMPLES = 46
SPREAD = 8.0
"""Points at which terms are compared, drawn from [-SPREAD, SPREAD]: pieces of common functions end at -3, 3 and 6."""

EXTREMES = (-800.0, 800.0)
"""Points besides, whose exponentials overflow: a term that breaks there is not equal in floating point."""

LARGEST = 1e12
"""Terms with values beyond this, or that are no numbers, are not looked into."""

SHORT_OPS = 2
"""Spellings of at most so many operators stand in for a function where a model's version of ONNX lacks it.

A function that has such a spelling needs no longer one; of others, one operator more than the fewest is worth while.
"""

Values = NDArray[np.float64]


def discover_scalars(library: SpecLibrary, max_ops: int, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidate equations of all pools over the named operators, in the order of their text form.

    Pools look deeper than `max_ops` where their operators allow: what a kernel is made of often takes more operators
    than the kernel, and scalar functions are cheap to enumerate; below 3 they keep to `max_ops`.
    """
    functions: dict[Term, _Function] = {}
    for pool in SCALAR_POOLS:
        if not pool.functions and operators.issuperset(pool.operators):
            enumeration = _Enumeration(library, pool, [library.operators[name] for name in pool.operators], seed)
            for found in enumeration.equal(min(pool.max_ops, max_ops)):
                functions.setdefault(found.term, found).spellings.update(found.spellings)
        for function in sorted(pool.functions):
            if not operators.issuperset(_named(function, pool.of)):
                continue
            names = [name for name in pool.operators if name in operators and name != function]
            enumeration = _Enumeration(library, pool, [library.operators[name] for name in names], seed)
            max_size = pool.max_ops if max_ops >= 3 else min(pool.max_ops, max_ops)
            for found in enumeration.spelled(_chain(library, function), max_size):
                functions.setdefault(found.term, found).spellings.update(found.spellings)
    builder = library.builder()
    rules = {format_rule(rule): rule for found in functions.values() for rule in _equations(builder, found)}
    return tuple(rules[text] for text in sorted(rules))


def _chain(library: SpecLibrary, text: str) -> list[tuple[Operator, str]]:
    """The operators that are applied in turn, each with its second operand: a number, a variable or nothing."""
    parts = [part.partition(OPERAND) for part in text.split(IN_TURN)]
    return [(library.operators[name], operand) for name, _, operand in parts]


def _named(*chains: str) -> set[str]:
    """The operators that are applied in some chains."""
    return {part.partition(OPERAND)[0] for chain in chains for part in chain.replace(IN_TURN, " ").split()}


def _equations(builder: Builder, function: _Function) -> Iterator[Rule]:
    """The function and its short spellings, each with all longer ones."""
    short = [term for term, size in function.spellings.items() if size <= SHORT_OPS]
    for term in function.spellings:
        for other in (function.term, *short):
            new = term not in short or other is function.term
            if new and builder.types(term) == builder.types(other):
                yield of_any_shape(builder, Rule((term,), (other,)))


@dataclass
class _Function:
    """One operator applied to variables, and what was found to compute the same, with its number of operators."""

    term: Term
    spellings: dict[Term, int] = field(default_factory=dict)

    def add(self, size: int, term: Term) -> None:
        """Note a spelling, unless it is too long or only wraps another one."""
        fewest = min(self.spellings.values(), default=size)
        if size <= fewest + (fewest > SHORT_OPS) and not any(part in self.spellings for part in postorder((term,))):
            self.spellings[term] = size


@dataclass(frozen=True)
class Operation:
    """An operator with its parameters, as the enumeration applies it."""

    operator: Operator
    attributes: Mapping[str, Attribute]

    def values(self, *operands: Values) -> Values:
        """Its values for those of its operands."""
        with np.errstate(all="ignore"):
            found: Values = self.operator.evaluate(FloatArrays(), *operands, **self.attributes)
        return found


class _Enumeration:
    """One pool without the function to be spelled: representatives of every size with their values."""

    def __init__(self, library: SpecLibrary, pool: ScalarPool, operators: Sequence[Operator], seed: int) -> None:
        self._builder: Builder = library.builder()
        generator = np.random.default_rng(seed)
        self._positive = pool.positive
        low = 0.0 if pool.positive else -SPREAD
        parameters = pool.parameters.split()
        single = () if pool.tensors else parameters
        shapes = {name: () if name in single else (any_shape(name),) for name in pool.variables}
        self._variables = [Var(name, TensorType(REAL, shape)) for name, shape in shapes.items()]
        points = [generator.uniform(low, SPREAD, SAMPLES + len(EXTREMES)) for _ in self._variables]
        if not pool.positive:
            points[0][-len(EXTREMES) :] = EXTREMES
        self._points: list[Values] = points
        self._is_bounded, self._is_shared = bool(pool.of), pool.shared or bool(pool.of)
        seen: list[tuple[Term, Values]] = list(zip(self._variables, points, strict=True))
        given = seen[len(seen) - len(parameters) :]
        self._parameters = [*given, *map(self._constant, pool.ends.split())] if given else []
        if pool.of:
            chains = [_chain(library, text) for text in pool.of.split()]
            seen = [one for chain in chains for one in self._in_turn(chain, [seen[0]])] + seen[1:]
        seen += map(self._constant, pool.literals)
        self._terms: list[list[Term]] = [[term for term, _ in seen]]
        self._values: list[Values] = [np.array([row for _, row in seen])]
        self._operators = operators
        self._operations = [operation for operator in operators for operation in operations(operator)]

    def spelled(self, function: Sequence[tuple[Operator, str]], max_ops: int) -> list[_Function]:
        """What operators in turn give, at every choice of their parameters, with spellings of at most `max_ops`."""
        (first, operand), *others = function
        if operand or others:
            found = self._in_turn(function, [(self._variables[0], self._points[0])])
        else:
            found = [one for operands in self._operands(first) for one in self._calls(first, *operands)]
        functions: dict[bytes, _Function] = {}
        for term, row in found:
            if not np.array_equal(row, self._points[0]):  # a slope of 1 leaves everything as it is
                functions.setdefault(value_key(row), _Function(term))
        self._enumerate(functions, max_ops)
        return list(functions.values())

    def _operands(self, function: Operator) -> Iterator[tuple[tuple[Term, Values], ...]]:
        """The variables in order; for parameters all that may stand there, once for all orders of names."""
        known = list(zip(self._variables, self._points, strict=True))
        if not self._parameters:
            yield tuple(known[: function.arity])
            return
        data, *parameters = known
        in_order = [term for term, _ in parameters]
        for chosen in product(self._made_of_parameters(), repeat=len(parameters)):
            used = list(variables([term for term, _ in chosen]))
            if used == in_order[: len(used)]:
                yield data, *chosen

    def _made_of_parameters(self) -> list[tuple[Term, Values]]:
        """Parameters, and what one operator makes of them."""
        made = {value_key(row): (term, row) for term, row in self._parameters}
        for operator in self._operators:
            for operands in product(self._parameters, repeat=int(operator.arity or 1)):
                for term, row in self._calls(operator, *operands):
                    if np.ptp(row) > 0:
                        made.setdefault(value_key(row), (term, row))
        return list(made.values())

    def _constant(self, number: Fraction | str) -> tuple[Term, Values]:
        """A number with its values, one for each point."""
        return literal(Fraction(number)), np.full_like(self._points[0], float(Fraction(number)))

    def _in_turn(
        self, chain: Sequence[tuple[Operator, str]], found: list[tuple[Term, Values]]
    ) -> list[tuple[Term, Values]]:
        """What operators make of each term one after the other."""
        known = {term.name: (term, row) for term, row in zip(self._variables, self._points, strict=True)}
        for operator, operand in chain:
            further = [known.get(operand) or self._constant(operand)] if operand else []
            found = [made for one in found for made in self._calls(operator, one, *further)]
        return found

    def _calls(self, operator: Operator, *operands: tuple[Term, Values]) -> list[tuple[Term, Values]]:
        """An operator on operands at every choice of its parameters, with its values."""
        terms, rows = [term for term, _ in operands], [row for _, row in operands]
        return [
            (self._builder.apply(operator.name, terms, operation.attributes), operation.values(*rows))
            for operation in operations(operator)
        ]

    def equal(self, max_ops: int) -> list[_Function]:
        """Terms of `max_ops` operators with those equal ones of as many that have fewer constants, or more.

        Besides them, what is a variable again.
        """
        known = zip(self._variables, self._points, strict=True)
        functions = {value_key(row): _Function(variable) for variable, row in known}
        self._enumerate(functions, max_ops, open_ended=True)
        for found in functions.values():
            fixed = _constants(found.term)
            found.spellings = {term: size for term, size in found.spellings.items() if _constants(term) != fixed}
        return [found for found in functions.values() if found.spellings]

    def _enumerate(self, functions: dict[bytes, _Function], max_ops: int, open_ended: bool = False) -> None:
        """Find spellings of the functions; where these are `open_ended`, every term of `max_ops` operators is one."""
        seen = {value_key(row) for row in self._values[0]}
        for size in range(1, max_ops + 1):
            terms, rows = [], []
            for make, row in self._applications(size):
                key = value_key(row)
                found = functions.get(key)
                if found is not None:
                    found.add(size, make())
                elif open_ended and size == max_ops and key not in seen:
                    functions[key] = _Function(make())
                if key not in seen and size < max_ops:
                    seen.add(key)
                    terms.append(make())
                    rows.append(row)
            self._terms.append(terms)
            self._values.append(np.array(rows).reshape(-1, self._values[0].shape[1]))

    def _applications(self, size: int) -> Iterator[tuple[Callable[[], Term], Values]]:
        """Every application with `size` operators to representatives: how to make it, and its values."""
        for operation in self._operations:
            arity = int(operation.operator.arity or 1)
            for sizes in product(range(size), repeat=arity):
                if sum(sizes) == size - 1 and not (operation.operator.commutative and sizes[0] > sizes[1]):
                    yield from self._applied(operation, sizes)
            if self._is_shared and size > 1 and arity == 2:
                yield from self._with_parts(operation, size - 1)

    def _with_parts(self, operation: Operation, size: int) -> Iterator[tuple[Callable[[], Term], Values]]:
        """Every application to a term of so many operators and a part of it, which is there already, or itself."""
        known = {
            term: row for bank in zip(self._terms, self._values, strict=True) for term, row in zip(*bank, strict=True)
        }
        pairs = [(part, term) for term in self._terms[size] for part in postorder((term,)) if part in known]
        parts, wholes = ([pair[at] for pair in pairs] for at in (0, 1))
        rows = np.tile(np.arange(len(pairs)), (2, 1))
        for banks in ((parts, wholes), (wholes, parts))[: 1 if operation.operator.commutative else 2]:
            values = [np.array([known[term] for term in bank]) for bank in banks]
            yield from self._evaluated(operation, banks, values, rows)

    def _applied(self, operation: Operation, sizes: Sequence[int]) -> Iterator[tuple[Callable[[], Term], Values]]:
        banks = [self._terms[size] for size in sizes]
        rows = np.indices([len(bank) for bank in banks]).reshape(len(sizes), -1)
        if len(sizes) == 2 and sizes[0] == sizes[1] and operation.operator.commutative:
            rows = rows[:, rows[0] <= rows[1]]
        yield from self._evaluated(operation, banks, [self._values[size] for size in sizes], rows)

    def _evaluated(
        self, operation: Operation, banks: Sequence[Sequence[Term]], known: Sequence[Values], rows: NDArray[np.intp]
    ) -> Iterator[tuple[Callable[[], Term], Values]]:
        """The applications to the terms of some banks at some places that have numbers of a usable size as values."""
        if not rows.shape[1]:
            return
        values = operation.values(*(bank[places] for bank, places in zip(known, rows, strict=True)))
        usable = np.isfinite(values).all(axis=1) & (np.abs(values) < LARGEST).all(axis=1) & (np.ptp(values, axis=1) > 0)
        for at in np.flatnonzero(usable):
            arguments = [bank[place] for bank, place in zip(banks, rows[:, at], strict=True)]
            if not self._is_sensible(operation.operator, arguments):
                continue
            yield partial(self._builder.apply, operation.operator.name, arguments, operation.attributes), values[at]

    def _is_sensible(self, operator: Operator, operands: Sequence[Term]) -> bool:
        """Whether an operator takes such operands, and a quotient is worth writing."""
        if operator.name == "Div":
            return self._is_quotient(*operands)
        return not operator.numbers or all(self._builder.type(one).shape == () for one in operands[1:])

    def _is_quotient(self, above: Term, below: Term) -> bool:
        """Whether a quotient is worth writing: what may be zero divides nothing, what is computed divides numbers."""
        if literal_value(below) is not None or self._is_bounded:
            return True
        return self._positive and (
            literal_value(above) is not None or (isinstance(above, Var) and isinstance(below, Var))
        )


def operations(operator: Operator) -> list[Operation]:
    """The operator with every choice of its parameters that scalar functions are tried with."""
    return [Operation(operator, attributes) for attributes in operator.choices.get(SCALARS, ({},))]


def _constants(term: Term) -> list[str]:
    return sorted(part.name for part in postorder((term,)) if isinstance(part, Const))


def value_key(row: Values) -> bytes:
    """Values up to rounding; 0 and -0 are one."""
    return (row.astype(np.float32) + np.float32(0)).tobytes()


def of_any_shape(builder: Builder, rule: Rule) -> Rule:
    """The rule with its variables called x, s and t as they occur, of any shapes that broadcast; numbers stay such."""
    data_first = sorted(rule.variables, key=lambda leaf: leaf.type.shape == ())
    names = dict(zip(data_first, ("x", "s", "t"), strict=False))
    images = {
        leaf: Var(names[leaf], TensorType(REAL, () if leaf.type.shape == () else (any_shape(names[leaf]),)))
        for leaf in rule.variables
    }
    source, target = (with_images(builder, side, images) for side in rule.roots)
    return Rule((source,), (target,))


def with_images(builder: Builder, root: Term, images: Mapping[Any, Term]) -> Term:
    """A term with others in the place of some of its parts."""
    known: dict[Term, Term] = dict(images)
    for part in postorder([root]):
        if part not in known:
            known[part] = builder.rebuild(part, tuple(known[child] for child in part.children))
    return known[root]
