"""Sequences of steps that compute rows of matrices as the pixels of an image, as far as products and maps go.

A runtime may compute a convolution of one pixel faster than the same product of matrices. No product alone gains by
that, since rows have to become pixels and pixels rows: the layout has to hold from one product to the next, through all
maps that lie between, so that all is one move for each region of a graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.finding.step import Step, StepSequence
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.descent import Uses

MOVEMENTS = ("Transpose", "Reshape")
FEWEST_PRODUCTS = 2
"""Of a region: a single one has its rows turned twice for itself."""


def pictured(terms: Sequence[Term], used_by: Uses, rewriter: Rewriter) -> Iterator[StepSequence]:
    """The sequence of each region of a graph, which is given by its terms, children before parents."""
    picturing = Picturing(rewriter, used_by)
    for term in terms:
        if isinstance(term, Apply) and not rewriter.is_constant(term):
            picturing.visit(term)
    yield from picturing.sequences()


@dataclass(frozen=True)
class Pictured:
    """What a term is said by, with the steps of that and the operands that are said by pixels too.

    `is_image` tells that it is an image itself, as what turns rows to pixels again.
    """

    said: Term
    steps: tuple[Step, ...]
    upon: tuple[Term, ...]
    is_product: bool = False
    is_image: bool = False


class Picturing:
    """Terms whose rows are said as pixels: products with weights, and maps of these alone."""

    def __init__(self, rewriter: Rewriter, used_by: Uses) -> None:
        self._rewriter, self._used_by = rewriter, used_by
        self._found: dict[Term, Pictured] = {}
        self._biased: set[Term] = set()

    def visit(self, term: Apply) -> None:
        """Say a term by pixels if it is a product, or a map of what is said so."""
        found = self._as_convolution(term) or self._as_map(term) or self._as_image(term)
        if found is not None:
            self._found[term] = found

    def sequences(self) -> Iterator[StepSequence]:
        """The steps of each region of several products, with what takes the places of what is used beyond it."""
        for region in self._regions():
            found = [self._found[term] for term in region]
            if sum(one.is_product for one in found) >= FEWEST_PRODUCTS:
                within = self._biased.union(region)
                beyond = [term for term in region if not self._used_by(term, within)]
                steps = tuple(step for one in found for step in one.steps)
                yield steps, tuple((term, self._found[term].said) for term in beyond)

    def _regions(self) -> list[list[Term]]:
        """The terms that stand upon each other, as they were found."""
        regions: dict[Term, list[Term]] = {}
        for term, found in self._found.items():
            first, *others = {id(regions[one]): regions[one] for one in found.upon}.values() or [list[Term]()]
            for other in others:
                first += other
                regions.update(dict.fromkeys(other, first))
            first.append(term)
            regions[term] = first
        return list({id(region): region for region in regions.values()}.values())

    def _of_pixels(self, term: Term) -> bool:
        return term in self._found and not self._found[term].is_image

    def _over(self, term: Term, upon: Sequence[Term]) -> Term:
        """A term with those operands as they are said by pixels; what they are part of elsewhere in it stays."""
        operands = [self._found[one].said if one in upon else one for one in term.children]
        return self._rewriter.with_children(term, operands)

    def _as_convolution(self, term: Apply) -> Pictured | None:
        """A product with weights, or one with its bias, as a convolution of pixels; None for any other term."""
        product = next((one for one in (term, *term.args) if self._is_product(one)), None)
        if product is None or (product is not term and not self._used_by(product, [term])):
            return None
        upon = tuple(filter(self._of_pixels, product.children))
        now = self._over(product, upon)
        step = self._rewriter.with_pixels(now if product is term else self._rewriter.with_child(term, product, now))
        if step is None:
            return None
        if product is not term:
            self._found.pop(product, None)
            self._biased.add(product)
        said, detour = self._without_detour(step.image)
        return Pictured(said, (step, *detour), upon, is_product=True)

    def _is_product(self, term: Term) -> bool:
        if not isinstance(term, Apply) or term.operator != "MatMul":
            return False
        rows, weights = term.args
        return self._rewriter.is_constant(weights) and not self._rewriter.is_constant(rows)

    def _without_detour(self, said: Term) -> tuple[Term, tuple[Step, ...]]:
        """A convolution of rows as pixels; where these were pixels before, of the image that they come from."""
        movements = _movements(said)
        (convolution,) = movements[-1].children
        data, *_ = convolution.children
        levels = [data]
        while len(levels) < len(movements):
            levels += levels[-1].children
        steps: list[Step] = []
        below = now = levels[-1].children[0]
        for level in reversed(levels):
            now, below = self._rewriter.with_child(level, below, now), level
            undone = self._rewriter.undone(now)
            if undone is not None:
                steps.append(undone)
                now = undone.image
        return self._rewriter.replaced(said, {data: now}) or said, tuple(steps)

    def _as_map(self, term: Apply) -> Pictured | None:
        """What is computed of pixels element by element as the pixels of what is computed of images."""
        upon = tuple(one for one in term.args if not self._rewriter.is_constant(one))
        if not upon or not all(map(self._of_pixels, upon)) or not self._rewriter.is_light(term):
            return None
        said, steps = self._over(term, upon), list[Step]()
        for _ in _movements(self._found[upon[0]].said):
            step = self._moved_outside(said, term.operator)
            if step is None:
                return None
            steps.append(step)
            (said,) = step.image.children
        for step in reversed(steps):
            said = self._rewriter.with_children(step.image, [said])
        return Pictured(said, tuple(steps), upon)

    def _moved_outside(self, term: Term, name: str) -> Step | None:
        """The step that says a map of what was moved as what is moved of a map."""
        for step in self._rewriter.rewrites(term):
            if _is_movement(step.image):
                (inner,) = step.image.children
                if isinstance(inner, Apply) and inner.operator == name and inner is not term:
                    return step
        return None

    def _as_image(self, term: Apply) -> Pictured | None:
        """What turns rows to pixels as the image itself that they are pixels of; None for any other term."""
        if not _is_movement(term) or not self._of_pixels(term.args[0]):
            return None
        step = self._rewriter.undone(self._over(term, term.args))
        return None if step is None else Pictured(step.image, (step,), term.args, is_image=True)


def _is_movement(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator in MOVEMENTS


def _movements(term: Term) -> list[Term]:
    """What moves elements at the top of a term, from the outside in."""
    found: list[Term] = []
    while _is_movement(term):
        found.append(term)
        (term,) = term.children
    return found
