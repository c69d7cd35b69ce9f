"""Finds what the runtime folds into the filters and the bias of a convolution: scales and shifts of its channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from taso_opt.core.term import Apply, Term
from taso_opt.spec.builder import Builder

FILTERED = frozenset({"Add", "BatchNormalization", "Mul"})
"""Operators that scale and shift channels where their other operands are constants of the right shapes."""


class Filtered(NamedTuple):
    """What a scale or shift is of: an image, which a convolution gives, by way of other scales and shifts."""

    image: Term
    conv: Apply


class Filters:
    """Tells which terms filters can do as well, once for each term."""

    def __init__(self, builder: Builder, is_constant: Callable[[Term], bool]) -> None:
        self._builder, self._is_constant = builder, is_constant
        self._known: dict[Term, Filtered | None] = {}

    def __call__(self, term: Term) -> Filtered | None:
        """What a term scales or shifts by constants, one for each channel, where filters can do that; else None."""
        chain: list[tuple[Term, Term]] = []
        top = term
        while top not in self._known:
            image = self._image(top)
            if image is None:
                self._known[top] = None
            elif _is_convolution(image):
                self._known[top] = self._of(image, image)
            else:
                chain.append((top, image))
                top = image
        for above, image in reversed(chain):
            below = self._known[image]
            self._known[above] = None if below is None else Filtered(image, below.conv)
        return self._known[term]

    def _image(self, term: Term) -> Term | None:
        """The only operand of a scale or shift of channels that is no constant."""
        if not isinstance(term, Apply) or term.operator not in FILTERED:
            return None
        images = [operand for operand in term.args if not self._is_constant(operand)]
        return images[0] if len(images) == 1 and self._is_of_channels(term, images[0]) else None

    def _of(self, image: Term, conv: Term) -> Filtered | None:
        """What is of a convolution, where its filters are constants."""
        assert isinstance(conv, Apply)
        return Filtered(image, conv) if all(map(self._is_constant, conv.args[1:])) else None

    def _is_of_channels(self, term: Apply, image: Term) -> bool:
        """Whether a term does the same to all pixels of a channel of an image, with constants."""
        if term.operator == "BatchNormalization":
            return term.args[0] is image
        (constant,) = (self._builder.type(operand) for operand in term.args if operand is not image)
        if constant.rank == 0:
            return term.operator == "Mul"
        shape = self._builder.type(image).shape
        by_channel = (*shape[1:2], *(1 for _ in shape[2:]))
        return constant.shape in (by_channel, (1, *by_channel))


def _is_convolution(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "Conv"
