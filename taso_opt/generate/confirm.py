"""Tests equations on fresh random instances: unequal sizes, sizes of one, several batch axes; residues and floats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.generate.retype import flat
from taso_opt.semantics.arrays import FloatArrays, ModularArrays
from taso_opt.semantics.conditions import conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import instantiate, random_assignment, symbols_of
from taso_opt.semantics.rounding import far_apart
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

ATTEMPTS_PER_INSTANCE = 200
WINDOW_RANGES = {"strides": (1, 3), "pads": (0, 2), "dilations": (1, 2), "kernel": (1, 3), "group": (1, 3)}


def holds(rule: Rule, builder: Builder, seed: int, count: int) -> bool:
    """Whether both sides agree modulo a prime on `count` random instances; False when too few can be made."""
    xp = ModularArrays(seed)
    generator = np.random.default_rng([seed, 3])
    done = 0
    for sources, targets in _instances(rule, builder, generator, count):
        leaves: dict[Term, Array] = {
            variable: xp.random(generator, _shape(variable)) for variable in _variables(sources, targets)
        }
        results = evaluate_arrays(builder, xp, (*sources, *targets), leaves)
        if not all(map(np.array_equal, results[: len(sources)], results[len(sources) :])):
            return False
        done += 1
    return done == count


def holds_in_floats(rule: Rule, builder: Builder, seed: int, count: int) -> bool:
    """Whether both sides agree in double precision on `count` random instances, up to rounding.

    Those of a rule with conditions meet them, and both sides have to be defined there. False when too few can be made.
    """
    generator = np.random.default_rng([seed, 4])
    done = 0
    for sources, targets in _instances(rule, builder, generator, count):
        leaves: dict[Term, Array] = {
            variable: generator.standard_normal(_shape(variable)) for variable in _variables(sources, targets)
        }
        values = conditioned(rule.conditions, leaves)
        with np.errstate(all="ignore"):  # a window of MaxPool in the padding alone gives an infinity
            results = evaluate_arrays(builder, FloatArrays(), (*sources, *targets), values)
        if rule.conditions and not all(bool(np.isfinite(result).all()) for result in results):
            return False
        pairs = zip(results[: len(sources)], results[len(sources) :], strict=True)
        if any(left.shape != right.shape or far_apart(left, right).any() for left, right in pairs):
            return False
        done += 1
    return done == count


Sides = tuple[tuple[Term, ...], tuple[Term, ...]]


def _instances(rule: Rule, builder: Builder, generator: np.random.Generator, count: int) -> Iterator[Sides]:
    """Well-typed instances at random sizes, drawn by rejection."""
    roots, outputs = rule.roots, len(rule.source)
    symbols, windows = symbols_of(roots), _window_ranges(roots)
    for _ in range(count * ATTEMPTS_PER_INSTANCE):
        if count == 0:
            return
        assignment = random_assignment(symbols, generator)
        # Windows that fit are too rare among independent sizes: their parameters are drawn from ranges of their own.
        assignment.update({name: int(generator.integers(low, high + 1)) for name, (low, high) in windows.items()})
        try:
            instance = instantiate(builder, roots, assignment, "float64")
        except TypeMismatch:
            continue
        sides = instance[:outputs], instance[outputs:]
        if any(min(_shape(variable), default=1) < 1 for variable in _variables(*sides)):
            continue  # a size such as h-2 where h is too small
        count -= 1
        yield sides


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


def _variables(sources: tuple[Term, ...], targets: tuple[Term, ...]) -> list[Var]:
    return [term for term in postorder((*sources, *targets)) if isinstance(term, Var)]


def _shape(variable: Var) -> tuple[int, ...]:
    return tuple(dim for dim in variable.type.shape if isinstance(dim, int))
