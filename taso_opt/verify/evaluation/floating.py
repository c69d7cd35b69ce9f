"""Finds how far floating-point results of the two sides of a rule may differ, from the operations for each element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product

import numpy as np

from taso_opt.core.rule import FpClass, Rule
from taso_opt.core.term import Apply, Var, postorder
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

CLASS_INSTANCES = 2
"""At how many sizes it is told whether both sides are numbers: of one element, the greatest is like any other."""

TELLS_NUMBERS, HOLES = "IsNaN", 0.25
"""The operator that tells what is no number, and how many elements are none where a rule has it."""

ALIKE = 0.01
"""How far numbers are apart by rounding; farther, one side has chosen another than the other."""

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

    So it is where one side is true and the other is not, or chooses another number by what is true.
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
    chooses = any(one.dtype == TRUTH for term in postorder(rule.roots) for one in builder.types(term))
    for instance, generator in instances(builder, rule, CLASS_INSTANCES):
        drawn = draw(instance, generator)
        for leaves in _holed(drawn, generator) if TELLS_NUMBERS in rule.operators else drawn:
            if not _agree(instance, leaves, chooses):
                return FpClass.E4
    return FpClass.E3


def _holed(drawn: Iterator[Leaves], generator: np.random.Generator) -> Iterator[Leaves]:
    """What is drawn, each time with some elements that are no numbers, too."""
    for leaves in drawn:
        yield leaves
        yield {leaf: np.where(generator.random(np.shape(one)) < HOLES, np.nan, one) for leaf, one in leaves.items()}


def _agree(instance: Instance, leaves: Leaves, chooses: bool) -> bool:
    """Whether both sides are numbers, or true, at the same places; and alike, where truth chooses between numbers."""
    fitting = {leaf: value.astype(PRECISION) for leaf, value in conditioned(instance.conditions, leaves).items()}
    with np.errstate(all="ignore"):
        values = evaluate_arrays(instance.builder, FloatArrays(), instance.roots, fitting)
        truths = [instance.builder.type(root).dtype == TRUTH for root in instance.source]
        pairs = [(u.astype(PRECISION), v.astype(PRECISION)) for u, v in _pairs(instance, values)]
    for truth, (u, v) in zip(truths, pairs, strict=True):
        numbers = np.isfinite(u)
        if np.any(u != v) if truth else np.any(numbers != np.isfinite(v)):
            return False
        if chooses and not np.allclose(u[numbers], v[numbers], ALIKE, ALIKE):
            return False
    return True


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
    return all(u.shape == v.shape and bool((u == v).all()) for u, v in _pairs(instance, values))


def _pairs(instance: Instance, values: Sequence[Array]) -> Iterator[tuple[Array, Array]]:
    """Each output of the source with that of the target."""
    width = len(instance.source)
    return zip(values[:width], values[width:], strict=True)
