"""Sequences of steps that take a slice down through all that feeds nothing else, as far as its rules reach.

One step alone may cost more than it gains where it parts what the runtime computes in one kernel, as an activation in
pieces; behind it the gain waits. So a slice is taken through operators that work element by element or row by row at
once, and then through one of the others at a time, each time with a new sequence to be priced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.steps import Rewriter, Step

MOST_ROUNDS = 16
MOST_STEPS = 256
"""How far one slice is followed; models have no longer ways from a slice to what stops it."""

Uses: TypeAlias = Callable[[Term, Collection[Term]], bool]
"""Tells whether all uses of a term are by some terms."""


class Descent:
    """One slice on its way down, in a graph of which it knows the terms and their uses."""

    def __init__(self, rewriter: Rewriter, root: Apply, present: frozenset[Term], used_by: Uses) -> None:
        self._rewriter, self._root, self._present, self._used_by = rewriter, root, present, used_by
        self._taken: dict[Term, Step] = {}
        self._passed: set[Term] = {root}
        self._open: dict[Apply, None] = {root: None}

    def rounds(self) -> Iterator[tuple[tuple[Step, ...], tuple[tuple[Term, Term], ...]]]:
        """The steps taken after each round with what they make of the slice in all."""
        for _ in range(MOST_ROUNDS):
            before = len(self._taken)
            self._round()
            if len(self._taken) == before or len(self._taken) > MOST_STEPS:
                return
            mapping = {old: step.replacements[0][1] for old, step in self._taken.items()}
            new = self._rewriter.replaced(self._root, mapping)
            if new is not None:
                yield tuple(self._taken.values()), ((self._root, new),)

    def _round(self) -> None:
        """Take every slice that can be through one operator, then through all light ones that follow."""
        following = list(self._open)
        while following and len(self._taken) <= MOST_STEPS:
            moved = [self._take(slice_) for slice_ in following]
            following = [one for one in self._open if self._rewriter.is_light(one.args[0])] if any(moved) else []

    def _take(self, slice_: Apply) -> bool:
        """Take one slice through its operand, if nothing else needs that whole."""
        (operand,) = slice_.args
        if not self._used_by(operand, self._passed):
            return False
        step = next((step for step in self._rewriter.rewrites(slice_) if _goes_down(step)), None)
        if step is None:
            return False
        del self._open[slice_]
        self._taken[slice_] = step
        self._passed |= {operand, slice_}
        stack = [step.replacements[0][1]]
        while stack:
            term = stack.pop()
            if term in self._present or self._rewriter.is_constant(term):
                continue
            if _is_slice(term):
                assert isinstance(term, Apply)
                if term not in self._taken:
                    self._open[term] = None
                self._passed.add(term)
            else:
                stack.extend(term.children)
        return True


def _is_slice(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "Slice"


def _goes_down(step: Step) -> bool:
    """Whether a step leaves the slice nearer to the inputs; two slices in another order are as far."""
    ((old, new),) = step.replacements
    (operand,) = old.children
    return new is operand or any(part in operand.children for part in _operands_of_slices(new))


def _operands_of_slices(term: Term) -> Iterator[Term]:
    """What the outermost slices of a term cut, a few operators down."""
    stack = [(term, 0)]
    while stack:
        top, depth = stack.pop()
        if _is_slice(top):
            yield top.children[0]
        elif depth < 2:
            stack.extend((child, depth + 1) for child in top.children)


def descents(
    terms: Iterable[Term], present: frozenset[Term], used_by: Uses, rewriter: Rewriter
) -> Iterator[tuple[tuple[Step, ...], tuple[tuple[Term, Term], ...]]]:
    """The sequences of all slices of a graph, each longer one after the shorter ones."""
    for term in terms:
        if _is_slice(term) and isinstance(term, Apply) and not rewriter.is_constant(term):
            yield from Descent(rewriter, term, present, used_by).rounds()
