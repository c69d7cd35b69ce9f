"""Whether the forms of a rule for any number of operands (see rewrite/patterns/lift.py) hold for three, on numbers.

The induction that lifts a rule needs that nothing in it stands for the number of its operands. What a rule says of
numbers and sizes in attributes, as `pads=(0, 1)` where two elements of size 1 are joined, may be true of two alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taso_opt.core.dims import Dim, Size, substitute, total
from taso_opt.core.rule import Rule, RuleSet
from taso_opt.core.term import Term, Var
from taso_opt.core.types import TensorType
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
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.rounding import far_apart
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

COUNT, ATTEMPTS = 3, 300
DTYPE = "float64"


@dataclass(frozen=True)
class Instance:
    """Both sides of a form for three operands, one term for each result, over these variables."""

    source: Sequence[Term]
    target: Sequence[Term]
    leaves: Sequence[Var]

    def holds(self, builder: Builder, generator: np.random.Generator) -> bool:
        """Whether both sides have the same values for random ones of the variables."""
        shapes = {leaf: tuple(dim for dim in leaf.type.shape if isinstance(dim, int)) for leaf in self.leaves}
        values: dict[Term, Array] = {leaf: generator.uniform(0.5, 1, shape) for leaf, shape in shapes.items()}
        sides = [evaluate_arrays(builder, FloatArrays(), side, values) for side in (self.source, self.target)]
        pairs = zip(*sides, strict=True)
        return all(one.shape == other.shape and not far_apart(one, other).any() for one, other in pairs)


def misleads(builder: Builder, rule: Rule) -> bool:
    """Whether a form of a rule for any number of operands is false of three, at random sizes."""
    generator = np.random.default_rng(0)
    instances = (instance_of_three(builder, form, generator) for form in lifted_forms(builder, (rule,)))
    return not all(instance.holds(builder, generator) for instance in instances if instance is not None)


def lifted_forms(builder: Builder, rules: Sequence[Rule]) -> list[CompiledRule]:
    """All forms of rules, in both directions, about sums, joins and splits of any number."""
    return [form for form in CompiledRules(RuleSet(tuple(rules)), builder) if form.lifted]


def instance_of_three(builder: Builder, form: CompiledRule, generator: np.random.Generator) -> Instance | None:
    """A form at random sizes; None where none were found at which its operands fit."""
    for _ in range(ATTEMPTS):
        try:
            binding = _random_binding(form, generator)
            source, target = (
                Instantiation(builder, replace(form, target=side), binding, COUNT).targets()
                for side in (form.source, form.target)
            )
        except TypeMismatch:
            continue
        return Instance(source, target, [term for term in binding.values() if isinstance(term, Var)])
    return None


def _random_binding(form: CompiledRule, generator: np.random.Generator) -> dict[str, Any]:
    """Sizes and variables for three elements; TypeMismatch for sizes that cannot be."""
    found = [part for side in (form.source, form.target) for part in _parts(side)]
    variables = {part.name: part for part in found if isinstance(part, Variable)}
    attributes = [part.attributes for part in found if isinstance(part, Application)]
    binding: dict[str, Any] = {"#dtype": DTYPE, "#count": COUNT, "#owed": ()}
    for name in _symbols((*(one.scheme.shape for one in variables.values()), *attributes)):
        for element in range(COUNT):
            size = (2, 1)[: generator.integers(3)] if name.startswith("*") else _random_size(name, generator)
            binding.setdefault(key(name, name in form.private_sizes, element), size)
    for one in variables.values():
        for element in range(COUNT):
            kind = TensorType(DTYPE, _shape(one, form, binding, element))
            name = term_key(one.name, one.private, element)
            binding.setdefault(name, Var(name, kind))
    return binding


def _random_size(name: str, generator: np.random.Generator) -> int:
    size = int(generator.integers(1, 4))
    return size - 1 if name.startswith("p_") else size


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
            shape.append(total(value(mine, at) for at in range(COUNT)))
        else:
            shape.append(value(dim, element))
    return tuple(shape)


def _parts(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern with all patterns in it."""
    yield pattern
    match pattern:
        case Application(_, args):
            for argument in args:
                yield from _parts(argument)
        case Output(inner) | Part(inner) | Join(inner) | Fold(_, inner):
            yield from _parts(inner)


def _symbols(value: object) -> list[str]:
    """The size symbols in shapes and attributes."""
    if isinstance(value, tuple):
        return [name for one in value for name in _symbols(one)]
    size = value.size if isinstance(value, Total) else value
    return list(size.symbols()) if isinstance(size, Size) else []
