"""Finds how far floating-point results of the two sides of a rule may differ, from the operations for each element."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from taso_opt.core.rule import FpClass, Rule
from taso_opt.core.term import Apply, postorder
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.conditions import conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.free import FreeArrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.verify.refute import Instance, Leaves, instances

INSTANCES = 8

FAR = (-800.0, 800.0)
"""Where exponentials overflow."""


def floating_point_class(builder: Builder, rule: Rule) -> FpClass:
    """E0 when only data moves, E1 when every element is computed by the same tree of operations, else E2."""
    if not any(_computes(builder, term) for term in postorder((*rule.source, *rule.target)) if isinstance(term, Apply)):
        return FpClass.E0
    free = FreeArrays()
    for instance, generator in instances(builder, rule, INSTANCES):
        leaves: Leaves = {leaf: free.random(generator, leaf.type.static_shape) for leaf in instance.variables}
        if not _same_trees(instance, evaluate_arrays(instance.builder, free, instance.roots, leaves)):
            return FpClass.E2
    return FpClass.E1


def scalar_class(builder: Builder, rule: Rule) -> FpClass:
    """E4 when far out one side of an equation between scalar functions is a number where the other is none, else E3."""
    for instance, _ in instances(builder, rule, 1):
        for numbers in product(FAR, repeat=len(instance.variables)):
            chosen = zip(instance.variables, numbers, strict=True)
            leaves: Leaves = {leaf: np.full(leaf.type.static_shape, number) for leaf, number in chosen}
            fitting = conditioned(instance.conditions, leaves)
            with np.errstate(all="ignore"):
                values = evaluate_arrays(instance.builder, FloatArrays(), instance.roots, fitting)
            are_numbers = [np.isfinite(value) for value in values]
            width = len(instance.source)
            if any(np.any(u != v) for u, v in zip(are_numbers[:width], are_numbers[width:], strict=True)):
                return FpClass.E4
    return FpClass.E3


def _computes(builder: Builder, term: Apply) -> bool:
    operator = builder.operator(term)
    return operator is None or operator.arithmetic


def _same_trees(instance: Instance, values: Sequence[Array]) -> bool:
    width = len(instance.source)
    pairs = zip(values[:width], values[width:], strict=True)
    return all(u.shape == v.shape and bool((u == v).all()) for u, v in pairs)
