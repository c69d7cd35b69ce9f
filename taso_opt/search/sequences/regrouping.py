"""Sequences that go on where others end: what these have made takes its weights prepared in another way.

Branches that come to be one grouped convolution may cost as much as apart, for their groups are too narrow for the
runtime's blocks of channels; the gain waits where groups have been paired, once or several times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.finding.step import Step, StepSequence
from taso_opt.rewrite.steps import Rewriter

MOST_TIMES = 3


def regrouped(sequence: StepSequence, present: Collection[Term], rewriter: Rewriter) -> Iterator[StepSequence]:
    """A sequence, and behind it a rule that prepares weights, wherever that fits what was made, up to three times.

    What is `present` was there before the sequence.
    """
    steps, replaced = sequence
    images = [image for _, image in replaced]
    first: dict[int, dict[Term, Step]] = {}
    for term in _made(images, present, rewriter):
        for step in rewriter.rewrites(term):
            if rewriter.prepares_weights(step.image):
                first.setdefault(id(step.rule), {}).setdefault(term, step)
    for latest in first.values():
        taken, mapping = steps, dict[Term, Term]()
        for _ in range(MOST_TIMES):
            taken = (*taken, *latest.values())
            mapping |= {term: step.image for term, step in latest.items()}
            prepared = rewriter.all_replaced(images, mapping)
            if prepared is None or not latest:
                break
            yield taken, tuple((old, image) for (old, _), image in zip(replaced, prepared, strict=True))
            latest = {term: next_ for term, step in latest.items() if (next_ := again(step, rewriter)) is not None}


def again(step: Step, rewriter: Rewriter) -> Step | None:
    """The same rule at what it has made; None where it does not fit that."""
    return next((further for further in rewriter.rewrites(step.image) if further.rule is step.rule), None)


def _made(images: Sequence[Term], present: Collection[Term], rewriter: Rewriter) -> list[Term]:
    """The operators in some terms that were not present, but for what is computed before the model runs."""
    found: dict[Term, None] = {}
    stack = list(images)
    while stack:
        term = stack.pop()
        if term not in found and term not in present and not rewriter.is_constant(term):
            found[term] = None
            stack.extend(term.children)
    return [term for term in found if isinstance(term, Apply)]
