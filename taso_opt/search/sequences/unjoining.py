"""Sequences that take a product of a join apart, so that each part moves in front of what enlarges its operand.

As where feature maps of several sizes are enlarged to one, joined and mixed by a pointwise convolution: one convolution
for each map costs more than one of their join, and pays only when each is done where there are fewer pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from taso_opt.core.term import Apply, Term, opened
from taso_opt.rewrite.finding.step import Step, StepSequence
from taso_opt.rewrite.patterns.lift import FOLDABLE
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.parting import fold

Taken = tuple[tuple[Step, ...], Term]
"""Steps, and what they make of a term."""


def unjoined(terms: Iterable[Term], rewriter: Rewriter) -> Iterator[StepSequence]:
    """The sequences for all products of joins of which something is enlarged, with what each replaces in all.

    Weights of parts are left as they are, or composed with those of the products before them.
    """
    for term in terms:
        if isinstance(term, Apply) and not rewriter.is_constant(term) and _is_product_of_enlarged(term, rewriter):
            taken = (_taken_apart(term, rewriter, composes) for composes in (False, True))
            for image, steps in {image: steps for steps, image in taken}.items():
                if any(_moves_forward(step, rewriter) for step in steps):
                    yield steps, ((term, image),)


def _is_product_of_enlarged(term: Apply, rewriter: Rewriter) -> bool:
    weights = any(rewriter.is_constant(operand) for operand in term.args)
    return weights and any(_is_enlarged(part, rewriter) for join in _joins(term) for part in join.args)


def _moves_forward(step: Step, rewriter: Rewriter) -> bool:
    """Whether what a step makes is enlarged, where it had been a product."""
    ((_, new),) = step.replacements
    return _is_enlarged(new, rewriter)


def _joins(term: Apply) -> list[Apply]:
    return [operand for operand in term.args if isinstance(operand, Apply) and operand.operator == "Concat"]


def _is_enlarged(term: Term, rewriter: Rewriter) -> bool:
    """Whether a term has more rows or columns than what it is made of."""
    live = [operand for operand in term.children if not rewriter.is_constant(operand)]
    sizes = [[rewriter.size(one, axis) or 0 for axis in (-1, -2)] for one in (term, *live)]
    return len(live) == 1 and sizes[0] > sizes[1] and all(one >= other for one, other in zip(*sizes, strict=True))


def _taken_apart(term: Apply, rewriter: Rewriter, composes: bool) -> Taken:
    """A product of a join as the sum of the products of what it joins, each moved as far forward as it goes."""
    joins = _joins(term)
    for step in rewriter.rewrites(term) if joins else ():
        new = step.image
        parts = [part for part in _summands(new) if isinstance(part, Apply) and part.operator == term.operator]
        if 1 < len(parts) == len(_summands(new)) and not any(join in part.children for part in parts for join in joins):
            found = [(part, *_taken_apart(part, rewriter, composes)) for part in parts]
            image = rewriter.replaced(new, {part: made for part, _, made in found if made is not part})
            if image is not None:
                return (step, *(one for _, steps, _ in found for one in steps)), image
    return _moved_forward(term, rewriter, composes)


def _summands(term: Term) -> list[Term]:
    return opened(term, lambda one: isinstance(one, Apply) and one.operator in FOLDABLE)


def _moved_forward(part: Apply, rewriter: Rewriter, composes: bool) -> Taken:
    """A product in front of what enlarges its operand, and there composed with the product before it where asked."""
    enlarged = [one.operator for one in part.args if isinstance(one, Apply) and _is_enlarged(one, rewriter)]
    for step in rewriter.rewrites(part) if enlarged else ():
        new = step.image
        inner = new.children[0] if isinstance(new, Apply) and new.operator in enlarged else None
        if isinstance(inner, Apply) and inner.operator == part.operator:
            steps, image = _moved_forward(inner, rewriter, composes)
            return (step, *steps), rewriter.with_child(new, inner, image)
    composed = fold(part, rewriter) if composes else None
    return ((), part) if composed is None else ((composed,), composed.image)
