"""Takes slices of rows down through all that they are cut from, wherever that is used, and reshapes behind them.

Where the inputs of all elements of a recurrence are projected at once, its cells have slices of what comes out of that:
each has an input of its own again when these are taken down to the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from taso_opt.core.term import Apply, Item, Term, postorder
from taso_opt.rewrite.finding.step import Step, mapping_of
from taso_opt.rewrite.steps import Rewriter

SLICE, RESHAPE = "Slice", "Reshape"

MOST_ROUNDS = 8
"""How many operators what comes before a recurrence is followed through."""


def sunk(
    outputs: Sequence[Term], rewriter: Rewriter, expired: Callable[[], bool], *, columns: bool
) -> tuple[tuple[Step, ...], Sequence[Term]]:
    """The steps that take slices down, and the outputs after them; none where there is nothing to be taken.

    Splits are taken for slices where they are of rows, and of columns where asked.
    """
    taken: tuple[Step, ...] = ()
    for _ in range(MOST_ROUNDS):
        steps = [] if expired() else [step for term in postorder(outputs) for step in _down(term, rewriter, columns)]
        new = rewriter.all_replaced(outputs, mapping_of(steps)) if steps else None
        if new is None:
            break
        taken, outputs = (*taken, *steps), new
    return taken, outputs


def _down(term: Term, rewriter: Rewriter, columns: bool) -> list[Step]:
    """The step that takes a slice or a reshape through what it is of; none without one, nor through each other.

    A part of a split is first taken for a slice.
    """
    if isinstance(term, Item) and _is_cut(term.term, columns) and not rewriter.is_constant(term):
        step = rewriter.sliced(term)
        return [] if step is None else [step]
    if not isinstance(term, Apply) or term.operator not in (SLICE, RESHAPE) or rewriter.is_constant(term):
        return []
    (operand,) = term.args
    if not isinstance(operand, Apply) or operand.operator in (SLICE, RESHAPE):
        return []
    if term.operator == RESHAPE and not _is_of_one(operand, rewriter):
        return []
    merged = rewriter.with_merged_rows(term)
    steps = rewriter.rewrites(term) if merged is None else (merged,)
    return [step for step in steps if _is_below(step, term.operator, operand)][:1]


def _is_of_one(term: Term, rewriter: Rewriter) -> bool:
    """Whether a term is computed from one tensor and constants: elements are, states are not."""
    while isinstance(term, Apply):
        operands = [one for one in term.args if not rewriter.is_constant(one)]
        if len(operands) != 1:
            return False
        (term,) = operands
    return True


def _is_cut(term: Apply, columns: bool) -> bool:
    """Whether a term splits something that is computed into rows, or into columns where these count."""
    return term.operator == "Split" and isinstance(term.args[0], Apply) and (columns or term.attribute("axis") != -1)


def _is_below(step: Step, kind: str, operand: Apply) -> bool:
    """Whether a step leaves the same operator on one of what it was taken through stands on, in one new operator."""
    ((_, new),) = step.replacements
    return (
        isinstance(new, Apply)
        and new.operator == operand.operator
        and any(isinstance(one, Apply) and one.operator == kind and one.args[0] in operand.args for one in new.args)
    )
