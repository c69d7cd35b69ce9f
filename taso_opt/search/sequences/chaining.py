"""Sequences of steps that say the cells of a recurrence as one operator that goes through all elements.

Such an operator may cost more at one element than the cell that it stands for. The gain comes where it reads its
weights once for many elements, so that all cells and all that joins them are one move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from taso_opt.core.term import Apply, Item, Term, postorder
from taso_opt.rewrite.finding.step import Step, StepSequence, changes_of, mapping_of
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.shortening import shortened
from taso_opt.search.sequences.sinking import sunk

MOST_ROUNDS = 16
"""Each round joins neighbours in pairs: so many are enough for 65,536 elements."""


def chained(outputs: Sequence[Term], rewriter: Rewriter, expired: Callable[[], bool]) -> Iterator[StepSequence]:
    """A sequence for the operators that are there, and one for each kind of cell with weights of its own.

    Where there are none, cells may be hidden by gates that are slices of what all are computed in, or by elements that
    are slices of what is computed of all.
    """
    for before, bare in _bare(outputs, rewriter, expired):
        found = False
        for first in _begun(bare, rewriter):
            if expired():
                return
            taken, new = _joined(first, bare, rewriter)
            if len(taken) > len(first):
                shorter, new = shortened(new, frozenset(postorder(outputs)), rewriter, expired)
                shorter, new = _cut(shorter, new, rewriter)
                found = True
                yield (*before, *taken, *shorter), changes_of(outputs, new)
        if found:
            return


def _bare(
    outputs: Sequence[Term], rewriter: Rewriter, expired: Callable[[], bool]
) -> Iterator[tuple[tuple[Step, ...], Sequence[Term]]]:
    """Steps after which cells may be seen, none first, and the outputs after them."""
    yield (), outputs
    if not _shares_weights(outputs, rewriter):
        return
    cuts = tuple(rewriter.cuts(postorder(outputs)))
    cut = _after(cuts, outputs, rewriter) if cuts else None
    if cut is not None:
        yield cuts, cut
    for columns in (False, True):
        down, new = sunk(outputs, rewriter, expired, columns=columns)
        if down:
            yield down, new


def _shares_weights(outputs: Sequence[Term], rewriter: Rewriter) -> bool:
    """Whether two products are with the same weights, as those of two cells are."""
    products = (term for term in postorder(outputs) if isinstance(term, Apply) and term.operator == "MatMul")
    weights = [one for term in products for one in term.args if rewriter.is_constant(one)]
    return len(set(weights)) < len(weights)


def _cut(
    taken: tuple[Step, ...], outputs: Sequence[Term], rewriter: Rewriter
) -> tuple[tuple[Step, ...], Sequence[Term]]:
    """Steps and the outputs after them, with all slices of a tensor as parts of one split."""
    cuts = tuple(rewriter.cuts(postorder(outputs)))
    new = rewriter.all_replaced(outputs, mapping_of(cuts))
    return (taken, outputs) if new is None else ((*taken, *cuts), new)


def _begun(outputs: Sequence[Term], rewriter: Rewriter) -> list[tuple[Step, ...]]:
    """The steps with which sequences begin: none where operators can be joined, or one for each cell of a kind."""
    terms = postorder(outputs)
    cells: dict[Any, dict[Term, Step]] = {}
    for step in rewriter.cells(terms):
        cells.setdefault((id(step.rule), _weights(step, rewriter)), {}).setdefault(step.root, step)
    begun = [tuple(group.values()) for group in cells.values() if len(group) > 1]
    if any(_joins(step, rewriter) for step in rewriter.together(terms)):
        begun.insert(0, ())
    return begun


def _joined(
    first: tuple[Step, ...], outputs: Sequence[Term], rewriter: Rewriter
) -> tuple[tuple[Step, ...], Sequence[Term]]:
    """All steps taken from some first ones on, and the outputs then."""
    taken: tuple[Step, ...] = ()
    following = first
    for _ in range(MOST_ROUNDS + 1):
        new = _after(following, outputs, rewriter)
        if new is None:
            break
        taken, outputs = (*taken, *following), new
        steps = rewriter.together(postorder(outputs))
        following = _apart([step for step in steps if _joins(step, rewriter)], rewriter)
        if not following:
            break
    return taken, outputs


def _after(steps: Sequence[Step], outputs: Sequence[Term], rewriter: Rewriter) -> Sequence[Term] | None:
    """The outputs after some steps, without what these add and undo; None where no graph computes that."""
    before = frozenset(postorder(outputs))
    new = rewriter.all_replaced(outputs, mapping_of(steps))
    if new is None:
        return None
    undone = (rewriter.undone(term) for term in postorder(new) if term not in before)
    return rewriter.all_replaced(new, mapping_of(step for step in undone if step is not None))


def _apart(steps: Iterable[Step], rewriter: Rewriter) -> tuple[Step, ...]:
    """Steps that leave each other's operators alone, the first ones first."""
    found: list[Step] = []
    touched: set[Term] = set()
    for step in steps:
        whole = _whole(step.root)
        near = (whole, *map(_whole, whole.children))
        places = {one for one in near if rewriter.is_recurrent(one) and not rewriter.is_constant(one)}
        if touched.isdisjoint(places):
            touched |= places
            found.append(step)
    return tuple(found)


def _whole(term: Term) -> Term:
    return term.term if isinstance(term, Item) else term


def _joins(step: Step, rewriter: Rewriter) -> bool:
    """Whether the rule of a step leaves fewer recurrent operators, but some."""
    rule = step.rule.rule
    before, behind = (sum(map(rewriter.is_recurrent, postorder(side))) for side in (rule.source, rule.target))
    return 0 < behind < before


def _weights(step: Step, rewriter: Rewriter) -> tuple[Term, ...]:
    """The constants that the operator which a step makes uses, in their order there."""
    stack = [image for _, image in step.replacements]
    while not rewriter.is_recurrent(stack[-1]):
        stack.extend(stack.pop().children)
    return tuple(filter(rewriter.is_constant, stack[-1].children))
