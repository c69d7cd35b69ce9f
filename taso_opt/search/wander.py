"""Rewrites a graph whether it pays or not, so that tests see rewriting and writing at work on any model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from taso_opt.core.term import Term, operator_count, postorder
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.builder import Builder

MOST_TRIES = 20
"""How many steps are tried at one graph before the walk gives up on it."""


@dataclass(frozen=True)
class Walk:
    """Where a walk ended, and the steps that led there."""

    outputs: tuple[Term, ...]
    steps: tuple[Step, ...] = ()


def wander(
    builder: Builder,
    rewriter: Rewriter,
    outputs: tuple[Term, ...],
    admissible: Callable[[Term], bool],
    *,
    seed: int,
    steps: int,
    shrink: bool = False,
) -> Walk:
    """Take up to `steps` random steps that can be written; with `shrink` only those that leave fewer operators."""
    choice, walk = Random(seed), Walk(outputs)
    for _ in range(steps):
        candidates = list(rewriter.steps(postorder(walk.outputs)))
        choice.shuffle(candidates)
        following = None
        for step in candidates if shrink else candidates[:MOST_TRIES]:
            following = _taken(builder, walk, step, admissible, shrink)
            if following is not None:
                break
        if following is None:
            break
        walk = following
    return walk


def _taken(builder: Builder, walk: Walk, step: Step, admissible: Callable[[Term], bool], shrink: bool) -> Walk | None:
    """The walk with one more step; None when the result is cyclic, cannot be written or is not wanted."""
    if not all(admissible(new) for _, new in step.replacements):
        return None
    outputs = substitute_terms(builder, walk.outputs, step.mapping)
    if outputs is None or (shrink and operator_count(outputs) >= operator_count(walk.outputs)):
        return None
    return Walk(outputs, (*walk.steps, step))
