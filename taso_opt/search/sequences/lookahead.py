"""Sequences of a few steps at one place, whatever the steps before the last one cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from taso_opt.core.term import Term
from taso_opt.rewrite.finding.step import Step, StepSequence, rules_of
from taso_opt.rewrite.steps import Rewriter

MOST_STEPS = 3
MOST_SPELLINGS = 100
"""How many spellings of what stands at a place are looked at after each number of steps."""

IsHopeless = Callable[[tuple[int, ...]], bool]
"""Whether rules, one after the other, lead to no gain."""


def looked_ahead(
    place: Term,
    steps_in: Callable[[Term], Iterable[Step]],
    is_last: Callable[[Step], bool],
    goes_on: Callable[[Step], bool],
    rewriter: Rewriter,
    is_hopeless: IsHopeless,
) -> Iterator[StepSequence]:
    """The sequences of at least two steps in a term, of which the last is one that `is_last`.

    All steps before it are such that it `goes_on`.
    """
    reached = {place}
    frontier: list[tuple[Term, tuple[Step, ...]]] = [(place, ())]
    for length in range(1, MOST_STEPS + 1):
        following: list[tuple[Term, tuple[Step, ...]]] = []
        for spelled, taken in frontier[:MOST_SPELLINGS]:
            for step in steps_in(spelled):
                steps, ends = (*taken, step), length > 1 and is_last(step)
                if is_hopeless(rules_of(steps)) or not (ends or (length < MOST_STEPS and goes_on(step))):
                    continue
                image = rewriter.replaced(spelled, step.mapping)
                if image is None or image in reached:
                    continue
                reached.add(image)
                if ends:
                    yield steps, ((place, image),)
                else:
                    following.append((image, steps))
        frontier = following
