"""The sequence of steps that computes lines as images of one row, wherever windows slide along them.

A runtime may compute on images in a layout that it does not have for lines. No image that is a row of its own gains by
that: the layout has to hold from one convolution to the next, through all that lies between, so that all is one move.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from taso_opt.core.term import Apply, Item, Term
from taso_opt.rewrite.finding.step import Replacements, Step, StepSequence
from taso_opt.rewrite.patterns.rows import adds_row_to, takes_a_row
from taso_opt.rewrite.steps import Rewriter


def raised(terms: Sequence[Term], outputs: Collection[Term], rewriter: Rewriter) -> StepSequence:
    """The steps for all lines of a graph, which is given by its terms, children before parents; none without lines."""
    rising = Rising(rewriter)
    for term in terms:
        if isinstance(term, Apply | Item) and not rewriter.is_constant(term):
            rising.visit(term)
    return rising.steps, rising.replacements(outputs)


class Rising:
    """Lines that are said as images whose only row is taken away, from the first window on as far as rules go."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._said: dict[Term, Term] = {}
        self._images: dict[Term, Term] = {}
        self._splits: dict[Term, Term] = {}
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps taken so far."""
        return tuple(self._steps)

    def replacements(self, outputs: Collection[Term]) -> Replacements:
        """What takes the places of lines that are outputs, and of terms that no rule knows with a row."""
        said = {term: image for term, image in self._said.items() if term in outputs}
        return tuple((said | self._images).items())

    def visit(self, term: Apply | Item) -> None:
        """Say a term as an image if windows slide along it or one of its operands is an image already."""
        of_images = any(child in self._said or child in self._splits for child in term.children)
        if not of_images and not _slides_along_a_line(term):
            return
        new = self._rewriter.with_children(term, list(map(self._now, term.children)))
        said = self._as_image(new)
        if said is not None:
            self._said[term] = said
        elif isinstance(new, Apply) and new.operator == "Split":
            self._splits[term] = new
        elif new is not term:
            self._images[term] = new

    def _now(self, term: Term) -> Term:
        return next((found[term] for found in (self._said, self._images, self._splits) if term in found), term)

    def _as_image(self, term: Term) -> Term | None:
        """A term as an image without its only row; None where no rule takes the row to its operands."""
        added = self._rewriter.with_row(term)
        if added is None:
            return None
        ((_, bare),) = added.replacements
        (row,) = bare.children
        step = next((one for one in self._rewriter.rewrites(row) if _goes_down(one, term)), None)
        if step is None:
            return None
        self._steps += [added, step]
        return self._rewriter.with_children(bare, [self._over_images(step.image)])

    def _over_images(self, image: Term) -> Term:
        """An image over operands to which no row is added where one was taken away."""
        if isinstance(image, Item):
            return self._rewriter.with_children(image, [self._over_images(image.term)])
        return self._rewriter.with_children(image, list(map(self._without_detour, image.children)))

    def _without_detour(self, operand: Term) -> Term:
        bare = next((one for one in operand.children if takes_a_row(one)), None)
        undone = self._rewriter.undone(operand) if bare is not None and adds_row_to(operand, bare) else None
        if undone is None:
            return operand
        self._steps.append(undone)
        return undone.image


def _slides_along_a_line(term: Term) -> bool:
    """Whether a term has windows that slide along one axis."""
    strides = dict(term.attributes).get("strides") if isinstance(term, Apply) else None
    return isinstance(strides, tuple) and len(strides) == 1


def _goes_down(step: Step, term: Term) -> bool:
    """Whether a step adds a row to the operands of a term in place of the term itself."""
    image = step.image
    if isinstance(term, Item):
        return isinstance(image, Item) and image.index == term.index and image.term.operator == term.term.operator
    same = isinstance(term, Apply) and isinstance(image, Apply) and image.operator == term.operator
    return same and term not in image.children  # a reshape of a reshape has the row, and is no image of the operands
