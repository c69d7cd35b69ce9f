"""Finds how far floating-point results of the two sides of a rule may differ, from the operations for each element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product

import numpy as np

from taso_opt.core.rule import FpClass, Rule
from taso_opt.core.term import Apply, Var
from taso_opt.core.types import TRUTH
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.conditions import conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.free import FreeArrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.verify.evaluation.refute import Instance, Leaves, instances

INSTANCES = 8

FAR = (-800.0, 800.0)
"""Where exponentials overflow."""

MIDDLE = (-60.0, 60.0)
"""Where exponentials have values, and their products and quotients overflow."""

SPECIAL = (0.0, 1.0, -1.0, 2.0, -0.5, *MIDDLE, *FAR)
"""Where quotients, logarithms and roots have no value, and numbers on both sides of that."""

MOST_COMBINATIONS, DRAWS, GENERAL = 64, 64, 8

PRECISION = np.float32
"""What models compute in: numbers overflow there that are far from it in float64."""


def floating_point_class(builder: Builder, rule: Rule) -> FpClass:
    """E0 when only data moves, E1 when every element is computed by the same tree of operations, else E2."""
    if not any(_computes(builder, term) for term in rule.applications):
        return FpClass.E0
    free = FreeArrays()
    for instance, generator in instances(builder, rule, INSTANCES):
        leaves: Leaves = {leaf: free.random(generator, leaf.type.static_shape) for leaf in instance.variables}
        if not _same_trees(instance, evaluate_arrays(instance.builder, free, instance.roots, leaves)):
            return FpClass.E2
    return FpClass.E1


def scalar_class(builder: Builder, rule: Rule) -> FpClass:
    """E4 when one side of an equation between scalar functions is a number where the other is none, else E3.

    So it is where one side is true and the other is not.
    """
    return _class_at(builder, rule, _special)


def definition_class(builder: Builder, rule: Rule) -> FpClass:
    """The same of any other equation that rests on meanings, of numbers with exponentials and where operands are 0.

    Farther out, or where numbers differ in their last digits only, rounding decides it: what a search makes of
    equations about roots of differences is told by `taso_opt.rewrite.ruleset.directions`.
    """
    return _class_at(builder, rule, _with_zeros)


Draw = Callable[[Instance, np.random.Generator], Iterator[Leaves]]


def _class_at(builder: Builder, rule: Rule, draw: Draw) -> FpClass:
    for instance, generator in instances(builder, rule, 1):
        for leaves in draw(instance, generator):
            fitting = {
                leaf: value.astype(PRECISION) for leaf, value in conditioned(instance.conditions, leaves).items()
            }
            with np.errstate(all="ignore"):
                values = evaluate_arrays(instance.builder, FloatArrays(), instance.roots, fitting)
                told = [
                    value if instance.builder.type(root).dtype == TRUTH else np.isfinite(value.astype(PRECISION))
                    for root, value in zip(instance.roots, values, strict=True)
                ]
            width = len(instance.source)
            if any(np.any(u != v) for u, v in zip(told[:width], told[width:], strict=True)):
                return FpClass.E4
    return FpClass.E3


def _special(instance: Instance, generator: np.random.Generator) -> Iterator[Leaves]:
    """All elements of an operand far out, in combinations as long as there are few, then every element by itself."""
    for numbers in (FAR, MIDDLE):
        for chosen in islice(product(numbers, repeat=len(instance.variables)), MOST_COMBINATIONS):
            chosen_for = zip(instance.variables, chosen, strict=True)
            yield {leaf: np.full(leaf.type.static_shape, one) for leaf, one in chosen_for}
    for _ in range(DRAWS):
        yield {leaf: generator.choice(np.array(SPECIAL), leaf.type.static_shape) for leaf in instance.variables}


def _with_zeros(instance: Instance, generator: np.random.Generator) -> Iterator[Leaves]:
    """Any numbers, then each operand in turn 0 and the others any numbers, then all of them 0, then larger numbers."""
    every = set(instance.variables)
    for zeros in (*[set[Var]()] * GENERAL, *({one} for one in instance.variables), every):
        yield {
            leaf: generator.standard_normal(leaf.type.static_shape) * (leaf not in zeros) for leaf in instance.variables
        }
    for _ in range(GENERAL):
        yield {leaf: generator.uniform(*MIDDLE, leaf.type.static_shape) for leaf in instance.variables}


def _computes(builder: Builder, term: Apply) -> bool:
    operator = builder.operator(term)
    return operator is None or operator.arithmetic


def _same_trees(instance: Instance, values: Sequence[Array]) -> bool:
    width = len(instance.source)
    pairs = zip(values[:width], values[width:], strict=True)
    return all(u.shape == v.shape and bool((u == v).all()) for u, v in pairs)
