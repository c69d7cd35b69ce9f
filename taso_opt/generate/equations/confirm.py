"""Tests equations on fresh random instances: unequal sizes, sizes of one, several batch axes; residues and floats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var, postorder
from taso_opt.generate.equations.retype import flat
from taso_opt.semantics.arrays import FloatArrays, ModularArrays
from taso_opt.semantics.conditions import conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.semantics.rounding import far_apart
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

SPREAD = 4.0
"""How far off the numbers of every other instance lie together: the pieces of activations are at -3, 0, 3 and 6."""

WINDOW_RANGES = {"strides": (1, 3), "pads": (0, 2), "dilations": (1, 2), "kernel": (1, 3), "group": (1, 3)}


def holds(rule: Rule, builder: Builder, seed: int, count: int) -> bool:
    """Whether both sides agree modulo a prime on `count` random instances; False when too few can be made."""
    xp = ModularArrays(seed)
    generator = np.random.default_rng([seed, 3])
    outputs, done = len(rule.source), 0
    for roots, variables in _instances(rule, builder, generator, count):
        leaves: dict[Term, Array] = {variable: xp.random(generator, _shape(variable)) for variable in variables}
        results = evaluate_arrays(builder, xp, roots, leaves)
        if not all(map(np.array_equal, results[:outputs], results[outputs:])):
            return False
        done += 1
    return done == count


def holds_in_floats(rule: Rule, builder: Builder, seed: int, count: int) -> bool:
    """Whether both sides agree in double precision on `count` random instances, up to rounding.

    Those of a rule with conditions meet them, and both sides have to be defined there. False when too few can be made.
    """
    generator = np.random.default_rng([seed, 4])
    outputs, done = len(rule.source), 0
    for roots, variables in _instances(rule, builder, generator, count):
        centres = generator.standard_normal(len(variables)) * (SPREAD if done % 2 else 0.0)
        leaves: dict[Term, Array] = {
            variable: generator.standard_normal(_shape(variable)) + centre
            for variable, centre in zip(variables, centres, strict=True)
        }
        values = conditioned(rule.conditions, leaves)
        with np.errstate(all="ignore"):  # a window of MaxPool in the padding alone gives an infinity
            results = evaluate_arrays(builder, FloatArrays(), roots, values)
        if rule.conditions and not all(bool(np.isfinite(result).all()) for result in results):
            return False
        pairs = zip(results[:outputs], results[outputs:], strict=True)
        if any(left.shape != right.shape or far_apart(left, right).any() for left, right in pairs):
            return False
        done += 1
    return done == count


def _instances(
    rule: Rule, builder: Builder, generator: np.random.Generator, count: int
) -> Iterator[tuple[tuple[Term, ...], list[Var]]]:
    """The roots of both sides at random sizes, and their variables.

    Windows that fit are too rare among independent sizes: their parameters are drawn from ranges of their own.
    """
    for roots in random_instances(builder, rule.roots, count, generator, ranges=_window_ranges(rule.roots)):
        yield roots, [term for term in postorder(roots) if isinstance(term, Var)]


def _window_ranges(roots: tuple[Term, ...]) -> dict[str, tuple[int, int]]:
    """The symbols in attributes of windows, with the least and greatest number that each may become."""
    return {
        size.symbol: WINDOW_RANGES[name]
        for term in postorder(roots)
        if isinstance(term, Apply)
        for name, value in term.attributes
        if name in WINDOW_RANGES
        for size in flat(value)
        if isinstance(size, Size) and size.symbol is not None
    }


def _shape(variable: Var) -> tuple[int, ...]:
    return tuple(dim for dim in variable.type.shape if isinstance(dim, int))
