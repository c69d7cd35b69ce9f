"""Sequences of steps that take a product of a sum or a join apart, so that each part folds into weights of its own.

As (x A + y) B = x (A B) + y B, which then joins what else is added: + x C gives x (A B + C) + y B. Or as the product of
joined rows of tables, x[i] and y[j], which is the sum of (x A)[i] and (y B)[j]: what is computed for each row of a
table need not be computed for each place where the row is looked up, nor what is computed of a code for each of the
points that it is repeated for, nor what is computed of a neighbour relative to a point for each pair of the two. Taking
the product apart makes two of one and costs more than alpha allows; only what follows gains, so that all of it is one
move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from taso_opt.core.term import Apply, Term, opened
from taso_opt.rewrite.finding.step import Step, StepSequence, mapping_of
from taso_opt.rewrite.patterns.lift import FOLDABLE
from taso_opt.rewrite.steps import Rewriter

MOST_FOLDS = 3
JOIN, EXPAND, LOOKUP, RESHAPE = "Concat", "Expand", "Gather", "Reshape"
TAKEN_APART = FOLDABLE | {"Sub"}
"""What products of it may be taken apart."""

Sums = Mapping[Term, tuple[Apply, tuple[Term, ...]]]
"""By each operand of a longer sum the sum and all its operands."""


def parted(
    terms: Iterable[Term], only_consumer: Callable[[Term], Term | None], sums: Sums, rewriter: Rewriter
) -> Iterator[StepSequence]:
    """The sequences for all products of sums or joins with weights in a graph, each with what it replaces in all."""
    for term in terms:
        if isinstance(term, Apply) and not rewriter.is_constant(term) and _is_product_of_several(term, rewriter):
            for first in rewriter.rewrites(term):
                for steps, image in _folded(first, rewriter):
                    yield steps, ((term, image),)
                    for step in in_sum(term, image, only_consumer(term), sums, rewriter):
                        yield (*steps, step), step.replacements


def _is_product_of_several(term: Apply, rewriter: Rewriter) -> bool:
    """Whether a term has weights, and an operand that is a sum, or a join with something repeated in it."""
    return any(map(rewriter.is_constant, term.args)) and any(map(_has_parts, term.args))


def _has_parts(term: Term) -> bool:
    if not isinstance(term, Apply):
        return False
    return term.operator in TAKEN_APART or (term.operator == JOIN and any(map(is_repeated, term.args)))


def is_repeated(term: Term) -> bool:
    """Whether a term gives rows of another as often as they are looked up, or what the other has several times."""
    return isinstance(term, Apply) and term.operator in (EXPAND, LOOKUP)


def _folded(first: Step, rewriter: Rewriter) -> Iterator[tuple[tuple[Step, ...], Apply]]:
    """A step that takes a product apart with those that fold its parts, and what comes out, each part once more a time.

    A part is not folded as far as it can be at once: a thin weight may be cheaper alone than folded into a wide one.
    """
    ((old, new),) = first.replacements
    if not isinstance(old, Apply) or not isinstance(new, Apply):
        return
    if new.operator not in TAKEN_APART or old.operator == new.operator:
        return
    steps: tuple[Step, ...] = (first,)
    for _ in range(MOST_FOLDS):
        folds = [step for step in (fold(part, rewriter) for part in _summands(new)) if step is not None]
        image = rewriter.replaced(new, mapping_of(folds))
        if not folds or not isinstance(image, Apply) or image.operator != new.operator:
            return
        steps, new = (*steps, *folds), image
        yield steps, new
        spared, bare = _broadcast(new, rewriter)
        if spared:
            yield (*steps, *spared), bare


def _broadcast(whole: Apply, rewriter: Rewriter) -> tuple[tuple[Step, ...], Apply]:
    """The steps by which a sum or product repeats operands itself, as far as it can, and what it is then."""
    steps: tuple[Step, ...] = ()
    while any(map(_is_expansion, whole.args)):
        step = min(rewriter.rewrites(whole), key=lambda step: _expansions(step.image, whole), default=None)
        if step is None or _expansions(step.image, whole) >= _expansions(whole, whole):
            break
        assert isinstance(step.image, Apply), f"expected a sum or a product, found {step.image!r}"
        steps, whole = (*steps, step), step.image
    return steps, whole


def _expansions(term: Term, like: Apply) -> int:
    """How many operands are repeated before a term takes them; all there can be for one that is not like another."""
    if not isinstance(term, Apply) or term.operator != like.operator:
        return len(like.args)
    return sum(map(_is_expansion, term.args))


def _is_expansion(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == EXPAND


def _summands(whole: Apply) -> list[Term]:
    """The operands of a sum or product, however it is bracketed."""
    return opened(whole, lambda one: isinstance(one, Apply) and one.operator == whole.operator)


def fold(part: Term, rewriter: Rewriter) -> Step | None:
    """The step that folds a weight of a part's operand into the part's own weight, so that the operand is skipped.

    Or the one by which what is computed of repeated rows is computed of these before. An operator that has a definition
    is no such part: it says in one word what is folded as soon as it is laid bare.
    """
    if rewriter.is_constant(part) or is_repeated(part):
        return None
    live = [operand for operand in part.children if not rewriter.is_constant(operand)]
    skipped = {below for operand in live for below in operand.children}
    behind_bias = {below for operand in live for below in _without_bias(operand, rewriter)}
    for step in rewriter.rewrites(part):
        new = step.image
        skips = not skipped.isdisjoint(new.children) or not behind_bias.isdisjoint(_without_bias(new, rewriter))
        if is_repeated(new) or (skips and rewriter.folded(step) and not rewriter.is_defined(new)):
            return step
    laid_out = (_looked_up_as_laid_out(operand, rewriter) for operand in live)
    return next((step for step in laid_out if step is not None), None)


def _looked_up_as_laid_out(operand: Term, rewriter: Rewriter) -> Step | None:
    """The step by which rows that are looked up and laid out anew are looked up as they are to lie."""
    if not isinstance(operand, Apply) or operand.operator != RESHAPE or not is_repeated(operand.args[0]):
        return None
    return next((step for step in rewriter.rewrites(operand) if is_repeated(step.image)), None)


def _without_bias(term: Term, rewriter: Rewriter) -> tuple[Term, ...]:
    """The operands of what a constant is added to, none of other terms."""
    if not isinstance(term, Apply) or term.operator != "Add":
        return ()
    live = [operand for operand in term.args if not rewriter.is_constant(operand)]
    return live[0].children if len(live) == 1 else ()


def in_sum(old: Term, new: Term, consumer: Term | None, sums: Sums, rewriter: Rewriter) -> tuple[Step, ...]:
    """The steps at the sum that a term is an operand of, with another in its place."""
    place = sum_with(old, new, consumer, sums)
    return () if place is None else rewriter.sum_rewrites(*place)


def sum_with(old: Term, new: Term, consumer: Term | None, sums: Sums) -> tuple[Apply, tuple[Term, ...]] | None:
    """The sum that a term is an operand of, and its operands with another term's parts in its place, at least three."""
    whole, operands = sums.get(old, (consumer, () if consumer is None else consumer.children))
    if not isinstance(whole, Apply) or whole.operator not in FOLDABLE:
        return None
    parts = new.args if isinstance(new, Apply) and new.operator == whole.operator else (new,)
    operands = tuple(one for operand in operands for one in (parts if operand is old else (operand,)))
    return (whole, operands) if len(operands) > 2 else None
