"""Rules about data that moves, applied wherever others have made new terms, as long as fewer operators are left.

What a long sequence leaves behind, as slices of slices of the states of a recurrence, is put right at once: for a
search, each of hundreds of such places would be a graph of its own. What computes is left to the search: a product of
all slices at once may be the better one, and yet no cell of the next layer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from taso_opt.core.term import Item, Term, postorder
from taso_opt.rewrite.finding.step import Step, mapping_of
from taso_opt.rewrite.steps import Rewriter

MOST_ROUNDS = 16
MOST_ALIKE = 4
"""Of so many graphs with as few operators each the next steps are looked for: not all of them lead as far."""

Found = tuple[tuple[Step, ...], tuple[Term, ...]]
"""Steps and the outputs that they lead to."""


def shortened(
    outputs: Sequence[Term], present: Collection[Term], rewriter: Rewriter, expired: Callable[[], bool]
) -> Found:
    """Steps at terms that are not `present`, round by round those of the rule that saves most, and the outputs then."""
    shortest: list[Found] = [((), tuple(outputs))]
    fewest = _operators(outputs, rewriter)
    for _ in range(MOST_ROUNDS):
        counted: dict[tuple[Term, ...], tuple[int, tuple[Step, ...]]] = {}
        for taken, before in shortest:
            for steps in () if expired() else _by_rule(before, present, rewriter):
                new = rewriter.all_replaced(before, mapping_of(steps))
                if new is not None and new not in counted:
                    counted[new] = _operators(new, rewriter), (*taken, *steps)
        least = min((count for count, _ in counted.values()), default=fewest)
        if least >= fewest:
            break
        fewest = least
        shortest = [(steps, new) for new, (count, steps) in counted.items() if count == least][:MOST_ALIKE]
    return shortest[0]


def _by_rule(outputs: Sequence[Term], present: Collection[Term], rewriter: Rewriter) -> list[tuple[Step, ...]]:
    """The steps of each rule that computes nothing, at each term the first one that it offers."""
    groups: dict[int, dict[Term, Step]] = {}
    for term in postorder(outputs):
        if term not in present and rewriter.moves_data(term) and not rewriter.is_constant(term):
            for step in rewriter.rewrites(term):
                groups.setdefault(id(step.rule), {}).setdefault(term, step)
    return [tuple(steps.values()) for steps in groups.values() if _moves_data(next(iter(steps.values())), rewriter)]


def _moves_data(step: Step, rewriter: Rewriter) -> bool:
    """Whether a rule has no operator that computes on either side."""
    return all(map(rewriter.moves_data, step.rule.rule.terms))


def _operators(outputs: Sequence[Term], rewriter: Rewriter) -> int:
    return sum(not isinstance(term, Item) and not rewriter.is_constant(term) for term in postorder(outputs))
