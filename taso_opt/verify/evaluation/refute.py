"""Looks for counterexamples: evaluates both sides of an equation on random instances, exactly and in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod

import numpy as np

from taso_opt.core.condition import Condition
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var, postorder
from taso_opt.semantics.arrays import FloatArrays, ModularArrays
from taso_opt.semantics.conditions import conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.semantics.rounding import far_apart
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.spec.text import format_rule, format_term
from taso_opt.verify.scalar_rules import is_definitional, is_scalar
from taso_opt.verify.verdict import Counterexample

INSTANCES = 24
"""How many random instances an equation must survive."""

FLOAT_EVERY = 3
"""Every so many instances are evaluated in float64, too: what is exact finds nearly all, and finds it sooner."""

SPREAD = 4.0
"""The standard deviation of numbers for scalar functions, whose pieces lie at -3, 0, 3 and 6."""

MAX_ELEMENTS = 2**22
"""No tensor of an instance may have more elements; only literal sizes in a rule can ask for more."""

Leaves = Mapping[Term, Array]


@dataclass(frozen=True)
class Instance:
    """Both sides of an equation at concrete sizes, with the builder that knows their types."""

    builder: Builder
    source: tuple[Term, ...]
    target: tuple[Term, ...]
    conditions: tuple[Condition, ...] = ()

    @property
    def roots(self) -> tuple[Term, ...]:
        """The outputs of both sides."""
        return (*self.source, *self.target)

    @cached_property
    def terms(self) -> list[Term]:
        """Everything that both sides are made of, children before parents."""
        return postorder(self.roots)

    @cached_property
    def variables(self) -> list[Var]:
        """The variables of both sides, in order of first occurrence."""
        return [term for term in self.terms if isinstance(term, Var)]

    def is_small(self) -> bool:
        """Whether every tensor can be had and is not large."""
        shapes = (kind.static_shape for term in self.terms for kind in self.builder.types(term))
        return all(min(shape, default=0) >= 0 and prod(shape) <= MAX_ELEMENTS for shape in shapes)


def instances(builder: Builder, rule: Rule, count: int) -> Iterator[tuple[Instance, np.random.Generator]]:
    """Up to `count` instances, each with the generator for its elements; the rule alone decides what is drawn."""
    seed = int.from_bytes(blake2b(format_rule(rule).encode(), digest_size=8).digest(), "little")
    generator = np.random.default_rng(seed)
    width = len(rule.source)
    for roots in random_instances(builder, rule.roots, count, generator):
        instance = Instance(builder, roots[:width], roots[width:], rule.conditions)
        if instance.is_small():
            yield instance, generator


def refute(builder: Builder, rule: Rule, count: int = INSTANCES) -> Counterexample | int:
    """The first counterexample among `count` random instances, or how many instances agreed.

    Instances are drawn from the text of the rule, so that the answer is always the same.
    """
    return _tried(builder, rule, count, _spread(builder, rule))


def refute_in_numbers(builder: Builder, rule: Rule) -> Counterexample | int:
    """As `refute`, over real numbers alone: residues have no order and leave functions such as Relu open."""
    return _tried(builder, rule, INSTANCES, _spread(builder, rule) or 1.0)


def _tried(builder: Builder, rule: Rule, count: int, spread: float | None) -> Counterexample | int:
    agreed = 0
    for number, (instance, generator) in enumerate(instances(builder, rule, count)):
        found = _disagreement(instance, generator, spread, floats=number % FLOAT_EVERY == 0)
        if found is not None:
            return found
        agreed += 1
    return agreed


def _spread(builder: Builder, rule: Rule) -> float | None:
    """The standard deviation of numbers where residues will not do, else None.

    Residues have no order, and no roots and reciprocals. Numbers for scalar functions spread over the pieces of hard
    swishes and the like; two numbers of either sign are compared where both sides are defined.
    """
    if is_definitional(builder, rule):
        return 1.0
    return SPREAD if is_scalar(builder, rule) else None


def _disagreement(
    instance: Instance, generator: np.random.Generator, spread: float | None, floats: bool
) -> Counterexample | None:
    """Where both sides differ, over numbers of this spread or else over residues and, if `floats`, numbers too."""
    for left, right in zip(instance.source, instance.target, strict=True):
        shapes = instance.builder.type(left), instance.builder.type(right)
        if shapes[0] != shapes[1]:
            values = f"of shape {shapes[0]}", f"of shape {shapes[1]}"
            return _counterexample(instance, "types", left, right, (), values)
    if spread is None:
        found = _compare_residues(instance, generator)
        if found is not None or not floats:
            return found
    reals: Leaves = {
        leaf: (spread or 1.0) * generator.standard_normal(leaf.type.static_shape) for leaf in instance.variables
    }
    return _compare(instance, FloatArrays(), conditioned(instance.conditions, reals), "float64", far_apart)


def _compare_residues(instance: Instance, generator: np.random.Generator) -> Counterexample | None:
    modular = ModularArrays(seed=int(generator.integers(2**31)))
    residues: Leaves = {leaf: modular.random(generator, leaf.type.static_shape) for leaf in instance.variables}
    return _compare(instance, modular, residues, f"modulo {modular.prime}", _unequal)


def _compare(
    instance: Instance,
    arithmetic: FloatArrays,
    leaves: Leaves,
    name: str,
    differ: Callable[[Array, Array], Array],
) -> Counterexample | None:
    width = len(instance.source)
    with np.errstate(invalid="ignore"):
        values = evaluate_arrays(instance.builder, arithmetic, instance.roots, leaves)
        pairs = [(u, v, np.argwhere(differ(u, v))) for u, v in zip(values[:width], values[width:], strict=True)]
    for at, (u, v, places) in enumerate(pairs):
        if len(places):
            place = tuple(int(index) for index in places[0])
            shown = str(u[place]), str(v[place])
            return _counterexample(instance, name, instance.source[at], instance.target[at], place, shown)
    return None


def _unequal(u: Array, v: Array) -> Array:
    return np.asarray(u != v)


def _counterexample(
    instance: Instance, arithmetic: str, left: Term, right: Term, place: Sequence[int], values: tuple[str, str]
) -> Counterexample:
    types = tuple(f"{leaf.name}{leaf.type}" for leaf in sorted(instance.variables, key=lambda leaf: leaf.name))
    return Counterexample(arithmetic, types, format_term(left), format_term(right), tuple(place), *values)
