"""Whether the forms of a rule for any number of operands (see rewrite/patterns/lift.py) hold for more, on numbers.

The induction that lifts a rule needs that nothing in it stands for the number of its operands. What a rule says of
numbers and sizes in attributes, as `pads=(0, 1)` where two elements of size 1 are joined, may be true of two alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from taso_opt.core.condition import ANY, Condition
from taso_opt.core.dims import Dim, Size, substitute, total
from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule, RuleSet
from taso_opt.core.term import Apply, Term, Var, postorder
from taso_opt.core.types import PLACES, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.patterns.apply import Instantiation
from taso_opt.rewrite.patterns.match import Binding, key, term_key
from taso_opt.rewrite.patterns.pattern import (
    Application,
    CompiledRule,
    Fold,
    Join,
    Output,
    Part,
    Pattern,
    Total,
    Variable,
)
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.semantics.conditions import conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import PAD
from taso_opt.semantics.rounding import far_apart
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

COUNTS = (3, 4, 5, 7)
"""Numbers of operands that forms are tried with, and all beyond that a number in the rule may stand for."""

COUNTING = frozenset(
    {
        "block",
        "dilations",
        "group",
        "groups",
        "kernel",
        "pads",
        "reach",
        "scale",
        "scales",
        "shape",
        "sizes",
        "strides",
    }
)
"""Attributes whose numbers may stand for one of operands."""

RATIOS = frozenset({"alpha", "beta", "exponent", "gamma", "high", "low"})
"""Attributes that are a number, as a numerator and a denominator."""

MOST_COUNTED = 8
"""No rule is lifted that has larger numbers there."""

MOST_LITERAL = 1000
"""Beside a number that is larger, or smaller than its reciprocal, what differs may be rounded away."""

MOST_PLACES = 1000
"""Places are drawn below; they count on from the first again."""

RANGES = ((0.5, 1.0), (-1.0, -0.5), (-1.0, 1.0), (0.0, 4.0), (-4.0, 0.0))
"""What values are drawn from: what is 0 of one sign hides what is not of the other."""

WIDE = 64.0
"""Values of both signs are drawn up to this too: numbers that a meaning compares with stand in no term."""

SMALL, LARGE, ATTEMPTS = 3, 9, 150
"""The largest sizes that are drawn, first small ones and then some that hold larger windows, each so often."""

DTYPE = "float64"


@dataclass(frozen=True)
class Instance:
    """Both sides of a form for some number of operands, one term for each result, over these variables."""

    source: Sequence[Term]
    target: Sequence[Term]
    leaves: Sequence[Var]
    conditions: Sequence[Condition] = ()

    def holds(self, builder: Builder, generator: np.random.Generator) -> bool:
        """Whether both sides have the same values for random ones of the variables, positive, negative and of both."""
        largest = max(map(abs, _literals((*self.source, *self.target))), default=0)
        far = max(WIDE, 2.0 * len(self.leaves) * largest)
        return all(
            self._agree(builder, {leaf: _drawn(leaf, bounds, generator) for leaf in self.leaves})
            for bounds in (*RANGES, (-far, far))
        )

    def _agree(self, builder: Builder, values: dict[Term, Array]) -> bool:
        fitting = conditioned(self.conditions, values)
        with np.errstate(all="ignore"):
            sides = [evaluate_arrays(builder, FloatArrays(), side, fitting) for side in (self.source, self.target)]
        pairs = zip(*sides, strict=True)
        return all(one.shape == other.shape and not far_apart(one, other).any() for one, other in pairs)


def misleads(builder: Builder, rule: Rule) -> bool:
    """Whether a form of a rule for any number of operands is false of some number, at random sizes, or may be.

    One that fits at no sizes says nothing: as here, matches make nothing of it.
    """
    generator = np.random.default_rng(0)
    forms = lifted_forms(builder, (rule,))
    largest = max((_counted(form) for form in forms), default=0)
    if forms and (largest > MOST_COUNTED or not all(map(_is_near_one, _literals(rule.roots)))):
        return True  # nothing that is tried would tell
    counts = sorted({*COUNTS, *range(3, 2 * largest + 4 if largest > 1 else 3)})
    instances = (instance_of(builder, form, count, generator) for form in forms for count in counts)
    return not all(instance.holds(builder, generator) for instance in instances if instance is not None)


def lifted_forms(builder: Builder, rules: Sequence[Rule]) -> list[CompiledRule]:
    """All forms of rules, in both directions, about sums, joins and splits of any number."""
    return [form for form in CompiledRules(RuleSet(tuple(rules)), builder) if form.lifted]


def instance_of(builder: Builder, form: CompiledRule, count: int, generator: np.random.Generator) -> Instance | None:
    """A form for so many operands at random sizes; None where none were found at which these fit."""
    for largest in (size for size in (SMALL, _large(form)) for _ in range(ATTEMPTS)):
        try:
            binding = _random_binding(form, count, largest, generator)
            source, target = (
                Instantiation(builder, replace(form, target=side), binding, count).targets()
                for side in (form.source, form.target)
            )
        except TypeMismatch:
            continue
        return Instance(source, target, *_values(form, binding, count))
    return None


def _values(form: CompiledRule, binding: Binding, count: int) -> tuple[list[Var], list[Condition]]:
    """The variables of a binding, and what the rule asks of the value of each."""
    private = {part.name: part.private for part in _parts_of(form) if isinstance(part, Variable)}
    conditions = {
        replace(one, variable=term_key(one.variable, private[one.variable], element)): None
        for one in form.rule.conditions
        if one.bounds != ANY
        for element in range(count)
    }
    return [term for term in binding.values() if isinstance(term, Var)], list(conditions)


def _drawn(leaf: Var, bounds: tuple[float, float], generator: np.random.Generator) -> Array:
    shape = tuple(dim for dim in leaf.type.shape if isinstance(dim, int))
    are_places = leaf.type.dtype == PLACES
    return generator.integers(MOST_PLACES, size=shape) if are_places else generator.uniform(*bounds, shape)


def _literals(roots: Sequence[Term]) -> list[Fraction]:
    """The numbers that terms calculate and compare with, those in attributes too."""
    terms = postorder(roots)
    attributes = (one for term in terms if isinstance(term, Apply) for one in term.attributes)
    ratios = (_numbers(value) for name, value in attributes if name in RATIOS)
    in_attributes = (Fraction(*ratio) for ratio in ratios if len(ratio) == 2)  # symbols stand for any
    return [*in_attributes, *(value for term in terms if (value := literal_value(term)) is not None)]


def _is_near_one(value: Fraction) -> bool:
    """Whether a number is 0, or neither large nor small."""
    return value == 0 or Fraction(1, MOST_LITERAL) <= abs(value) <= MOST_LITERAL


def _counted(form: CompiledRule) -> int:
    """The largest number in an attribute that may stand for one of operands."""
    applications = [part for part in _parts_of(form) if isinstance(part, Application)]
    values = [value for part in applications for name, value in part.attributes if name in COUNTING]
    return max(_numbers(values), default=0)


def _large(form: CompiledRule) -> int:
    """A size that windows fit into twice."""
    numbers = _numbers([part.attributes for part in _parts_of(form) if isinstance(part, Application)])
    return max(LARGE, *(2 * number for number in numbers), 0)


def _random_binding(form: CompiledRule, count: int, largest: int, generator: np.random.Generator) -> dict[str, Any]:
    """Sizes and variables for so many elements; TypeMismatch for sizes that cannot be."""
    found = _parts_of(form)
    variables = {part.name: part for part in found if isinstance(part, Variable)}
    attributes = [part.attributes for part in found if isinstance(part, Application)]
    empty = bounds_of_sizes(form.rule.roots).least
    binding: dict[str, Any] = {"#dtype": DTYPE, "#count": count, "#owed": ()}
    for name in _symbols((*(one.scheme.shape for one in variables.values()), *attributes)):
        for element in range(count):
            size = (2, 1)[: generator.integers(3)] if name.startswith("*") else _size(name, largest, empty, generator)
            binding.setdefault(key(name, name in form.private_sizes, element), size)
    for one in variables.values():
        for element in range(count):
            dtype = PLACES if one.scheme.dtype == PLACES else DTYPE
            kind = TensorType(dtype, _shape(one, form, binding, element))
            name = term_key(one.name, one.private, element)
            binding.setdefault(name, Var(name, kind))
    return binding


def _size(name: str, largest: int, empty: Container[str], generator: np.random.Generator) -> int:
    size = int(generator.integers(1, largest + 1))
    return size - 1 if name.startswith(PAD) or name in empty else size


def _shape(one: Variable, form: CompiledRule, binding: Binding, element: int) -> tuple[Dim, ...]:
    """The shape of a variable's array for one element."""

    def value(size: Dim, at: int) -> Dim:
        return substitute(size, lambda name: binding.get(key(name, name in form.private_sizes, at)))

    shape: list[Dim] = []
    for wanted, dim in zip(one.shape, one.scheme.shape, strict=True):
        if isinstance(dim, Size) and dim.symbol is not None and dim.is_star:
            shape += binding[key(dim.symbol, dim.symbol in form.private_sizes, element)]
        elif wanted is None and isinstance(dim, Size):  # what a split takes apart
            mine = total(Size((term,)) for term in dim.terms if set(term[0]) & form.private_sizes)
            shape.append(total(value(mine, at) for at in range(binding["#count"])))
        else:
            shape.append(value(dim, element))
    return tuple(shape)


def _parts_of(form: CompiledRule) -> list[Pattern]:
    """All patterns in both sides of a form."""
    return [part for side in (form.source, form.target) for part in _parts(side)]


def _parts(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern with all patterns in it."""
    yield pattern
    match pattern:
        case Application(_, args):
            for argument in args:
                yield from _parts(argument)
        case Output(inner) | Part(inner) | Join(inner) | Fold(_, inner):
            yield from _parts(inner)


def _numbers(value: object) -> list[int]:
    """The numbers in attributes."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, int) else []


def _symbols(value: object) -> list[str]:
    """The size symbols in shapes and attributes."""
    if isinstance(value, tuple):
        return [name for one in value for name in _symbols(one)]
    size = value.size if isinstance(value, Total) else value
    return list(size.symbols()) if isinstance(size, Size) else []
