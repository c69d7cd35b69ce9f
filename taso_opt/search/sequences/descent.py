"""Sequences of steps that take a slice or a join down through all that feeds nothing else, as far as its rules reach.

So they do with the lookup of a few rows, which is a slice at places that are known only when a model runs.

One step alone may cost more than it gains where it parts what the runtime computes in one kernel, as an activation in
pieces; behind it the gain waits. So a slice is taken through operators that work element by element or row by row at
once, and then through one of the others at a time, each time with a new sequence to be priced. What computes on
branches or towers one by one comes to compute on all of them so: the join of their results goes down to the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from taso_opt.core.term import Apply, Item, Term
from taso_opt.rewrite.finding.step import Step, StepSequence
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.regrouping import regrouped

SLICE, LOOKUP, JOIN = "Slice", "Gather", "Concat"

MOST_ROUNDS = 16
MOST_STEPS = 256
"""How far one slice or join is followed; models have no longer ways from one to what stops it."""

LOOKED_INTO = 2
"""How many operators deep in what a step makes a slice or a join stands."""

Uses: TypeAlias = Callable[[Term, Collection[Term]], bool]
"""Tells whether all uses of a term are by some terms."""


class Descent:
    """Slices or joins on their way down, in a graph of which it knows the terms and their uses."""

    def __init__(
        self, rewriter: Rewriter, kind: str, begun: StepSequence, present: frozenset[Term], used_by: Uses
    ) -> None:
        """`begun` has the step that makes a join, or none and a slice or join of the graph in its own place."""
        self._rewriter, self._kind, self._present, self._used_by = rewriter, kind, present, used_by
        self._first, self._replaced = begun
        self._taken: dict[Term, Step] = {}
        self.passed: set[Term] = {old for old, _ in self._replaced}
        self._open: dict[Apply, None] = {}
        for old, new in self._replaced:
            if old is new:
                assert isinstance(new, Apply), f"expected a slice or a join, found {new!r}"
                self._open[new] = None
            else:
                self._note(new)

    def rounds(self) -> Iterator[StepSequence]:
        """The steps taken after each round with what they replace in all."""
        for _ in range(MOST_ROUNDS):
            before = len(self._taken)
            self._round()
            if len(self._taken) == before or len(self._taken) > MOST_STEPS:
                return
            mapping = {old: step.image for old, step in self._taken.items()}
            made = [mapping.get(new, new) for _, new in self._replaced]
            images = self._rewriter.all_replaced(made, mapping, self._present)
            if images is not None:
                pairs = tuple((old, image) for (old, _), image in zip(self._replaced, images, strict=True))
                yield (*self._first, *self._taken.values()), pairs

    def _round(self) -> None:
        """Take all that can be through one operator, then through all light ones that follow."""
        following = list(self._open)
        while following and len(self._taken) <= MOST_STEPS:
            moved = [self._take(one) for one in following]
            following = [one for one in self._open if self._is_upon_light(one)] if any(moved) else []

    def _is_upon_light(self, one: Apply) -> bool:
        return all(self._rewriter.is_light(operand) or isinstance(operand, Item) for operand in self._computed(one))

    def _computed(self, one: Apply) -> list[Term]:
        operands = one.args[:1] if self._kind == LOOKUP else one.args
        return [operand for operand in operands if not self._rewriter.is_constant(operand)]

    def _take(self, one: Apply) -> bool:
        """Take one slice through its operand, if nothing else needs that whole; a join through all of its operands.

        Joined parts need no operator of their own.
        """
        operands = self._computed(one)
        if not all(isinstance(operand, Item) or self._used_by(operand, self.passed) for operand in operands):
            return False
        steps = [step for step in self._rewriter.rewrites(one) if self._goes_down(step)]
        step = min(steps, key=self._mixed, default=None)
        if step is None:
            return False
        del self._open[one]
        self._taken[one] = step
        self.passed |= {*operands, one}
        needed = self._note(step.image)
        inside = {child for operand in operands for child in operand.children} - needed
        self.passed |= {child for child in inside if self._used_by(child, self.passed)}
        return True

    def _note(self, new: Term) -> set[Term]:
        """Note which slices or joins there are in what a step has made; the terms of the graph that it stands on."""
        stack, needed = [new], set[Term]()
        while stack:
            term = stack.pop()
            if term in self._present:
                needed.add(term)
                continue
            if self._rewriter.is_constant(term):
                continue
            if _is(self._kind, term):
                assert isinstance(term, Apply)
                if term not in self._taken:
                    self._open[term] = None
                self.passed.add(term)
                needed.update(term.children)
            else:
                stack.extend(term.children)
        return needed

    def _goes_down(self, step: Step) -> bool:
        """Whether a step leaves the slice or join nearer to the inputs; two of them in another order are as far."""
        ((old, new),) = step.replacements
        operands = [operand.term if isinstance(operand, Item) else operand for operand in old.children]
        below = {child for operand in operands for child in operand.children}
        if new in operands or new in below:
            return True
        moved = list(_outermost(self._kind, new))
        if self._kind == JOIN:  # weights may be joined as they like; where they alone are, the operands are shared
            moved = [one for one in moved if not self._rewriter.is_constant(one)] or [new]
        return any(not below.isdisjoint(one.children) for one in moved)

    def _mixed(self, step: Step) -> int:
        """How many kinds there are of what is joined: with like, like is to be joined."""
        ((_, new),) = step.replacements
        return sum(len(set(map(self._rewriter.kind, one.children))) for one in _outermost(JOIN, new))


def _is(kind: str, term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == kind


def _outermost(kind: str, term: Term) -> Iterator[Term]:
    """The outermost slices or joins of a term, a few operators down."""
    stack = [(term, 0)]
    while stack:
        top, depth = stack.pop()
        if _is(kind, top):
            yield top
        elif depth < LOOKED_INTO:
            stack.extend((child, depth + 1) for child in top.children)


def descents(
    terms: Sequence[Term],
    present: frozenset[Term],
    used_by: Uses,
    rewriter: Rewriter,
    joining: Sequence[Step] = (),
) -> Iterator[StepSequence]:
    """The sequences of all slices and joins of a graph, each longer one after the shorter ones.

    They go on from the joins that the `joining` steps make too. Where one has passed another begins no more.
    """
    for term in terms:
        if isinstance(term, Apply) and term.operator in (SLICE, LOOKUP) and not rewriter.is_constant(term):
            yield from Descent(rewriter, term.operator, ((), ((term, term),)), present, used_by).rounds()
    passed: set[Term] = set()
    for begun in _from_the_last(terms, joining):
        roots = {old for old, _ in begun[1]}
        if not roots <= passed:
            descent = Descent(rewriter, JOIN, begun, present, used_by)
            for sequence in descent.rounds():
                yield sequence
                yield from regrouped(sequence, present, rewriter)
            passed |= descent.passed - roots


def _from_the_last(terms: Sequence[Term], joining: Sequence[Step]) -> list[StepSequence]:
    """Where joins begin to go down, those first that stand nearest to the outputs."""
    place = {term: at for at, term in enumerate(terms)}
    begun: list[StepSequence] = [((), ((term, term),)) for term in terms if _is(JOIN, term)]
    begun += [((step,), step.replacements) for step in joining if step.rule.merges or step.rule.folds]
    return sorted(begun, key=lambda one: max(place.get(old, 0) for old, _ in one[1]), reverse=True)
