"""Finds how far floating-point results of the two sides of a rule may differ, from the operations for each element."""

from __future__ import annotations

from collections.abc import Sequence

from taso_opt.core.rule import FpClass, Rule
from taso_opt.core.term import Apply, postorder
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.free import FreeArrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.verify.refute import Instance, Leaves, instances

INSTANCES = 8


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


def _computes(builder: Builder, term: Apply) -> bool:
    operator = builder.operator(term)
    return operator is None or operator.arithmetic


def _same_trees(instance: Instance, values: Sequence[Array]) -> bool:
    width = len(instance.source)
    pairs = zip(values[:width], values[width:], strict=True)
    return all(u.shape == v.shape and bool((u == v).all()) for u, v in pairs)
