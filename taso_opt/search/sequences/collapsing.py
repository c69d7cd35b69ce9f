"""Sequences of steps that spell an expression in another way until one operator says it, or most of it.

As x s (1 + k x x) = s (x + k x x x), which is what GELU by tanh takes the tanh of. Each spelling before the last may
cost more than alpha allows, since runtimes recognize some and compute those by kernels that may be slow. So a few steps
are looked ahead, whatever they cost, and what they lead to is one move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from taso_opt.core.term import Term
from taso_opt.rewrite.finding.step import Step, StepSequence, operators_saved
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.folding import OnlyConsumer
from taso_opt.search.sequences.lookahead import IsHopeless, looked_ahead

FEWEST_OPERATORS, MOST_OPERATORS = 4, 16
"""Of expressions that are looked at: shorter ones are rewritten at once, in longer ones there is no end to it."""

LEAST_SAVED = 3
"""How many operators fewer the last step leaves."""


def collapsed(
    terms: Iterable[Term], only_consumer: OnlyConsumer, rewriter: Rewriter, is_hopeless: IsHopeless
) -> Iterator[StepSequence]:
    """The sequences at those of some terms that are whole expressions: no other operator goes on with them alone."""
    steps_in = partial(_steps, rewriter=rewriter)
    for term in terms:
        if rewriter.is_constant(term) or not rewriter.is_light(term):
            continue
        consumer = only_consumer(term)
        if consumer is not None and rewriter.is_light(consumer):
            continue
        if FEWEST_OPERATORS <= len(_expression(term, rewriter)) <= MOST_OPERATORS:
            yield from looked_ahead(term, steps_in, _is_last, _goes_on, rewriter, is_hopeless)


def _is_last(step: Step) -> bool:
    return operators_saved(step) >= LEAST_SAVED


def _goes_on(step: Step) -> bool:
    return 0 <= operators_saved(step) < LEAST_SAVED


def _steps(spelled: Term, rewriter: Rewriter) -> Iterator[Step]:
    terms = _expression(spelled, rewriter)
    for term in terms:
        yield from rewriter.rewrites(term)
    for whole, operands in dict(rewriter.sums(terms).values()).items():
        yield from rewriter.sum_rewrites(whole, operands)


def _expression(root: Term, rewriter: Rewriter) -> list[Term]:
    """What is computed element by element from a term down, children before parents."""
    found: dict[Term, None] = {}
    stack = [root]
    while stack:
        term = stack[-1]
        inside = [one for one in term.children if one not in found and rewriter.is_light(one)]
        inside = [one for one in inside if not rewriter.is_constant(one)]
        if inside:
            stack.extend(inside)
        else:
            found[stack.pop()] = None
    return list(found)
