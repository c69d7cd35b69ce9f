"""Sequences of steps that add channels which lead to nothing, wherever images have some number of channels.

A runtime computes convolutions on channels in blocks, and what cannot go on in blocks waits for conversions. Zeros in
weights make the channels fill whole blocks, from the convolutions that give them to those that read them. No step of
that gains alone, and each place where channels are cut off again costs more than it did, so that all is one move.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from taso_opt.core.term import Apply, Term, opened
from taso_opt.rewrite.finding.step import Replacements, Step, StepSequence
from taso_opt.rewrite.steps import Rewriter

CHANNELS, OUTPUTS, LAST = -3, -4, -1
"""The axes of channels in images and scales, of outputs in kernels, and of both in a bias."""

PIXELS = (-2, -1)
"""The axes of what an image has for each channel."""

BLOCKS = (8, 16)
"""How many channels runtimes compute at once."""


def widenings(
    terms: Sequence[Term], outputs: Collection[Term], converted: Collection[Term], rewriter: Rewriter
) -> Iterator[StepSequence]:
    """The sequences for each number of channels of an image that the runtime converts between layouts."""
    numbers = {rewriter.size(term, CHANNELS) for term in converted}
    for channels in sorted(number for number in numbers if number is not None):
        for more in sorted({-channels % block for block in BLOCKS} - {0}):
            found = Widening(rewriter, channels, more)
            if found.goes_through(terms, outputs) and found.steps:
                yield found.steps, found.replacements


class Widening:
    """One number of channels, and how many more there shall be.

    Terms of so many channels are said as slices of wider ones and joins of such terms as joins of slices, up to what
    can read all channels: a convolution that has zeros in its weights for those that were added.
    """

    def __init__(self, rewriter: Rewriter, channels: int, more: int) -> None:
        self._rewriter, self._channels, self._more = rewriter, channels, more
        self._said: dict[Term, Apply] = {}
        self._images: dict[Term, Term] = {}
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps taken so far."""
        return tuple(self._steps)

    @property
    def replacements(self) -> Replacements:
        """What reads all channels in place of what read as many as there were."""
        return tuple(self._images.items())

    def goes_through(self, terms: Sequence[Term], outputs: Collection[Term]) -> bool:
        """Whether no images have to be cut again in a graph, which is given by its terms, children before parents."""
        operators = (term for term in terms if isinstance(term, Apply) and not self._rewriter.is_constant(term))
        return all(map(self._visit, operators)) and self._said.keys().isdisjoint(outputs)

    def _visit(self, term: Apply) -> bool:
        """Say a term anew where its operands are; whether it can be done without cutting an image."""
        new = self._over(term, [self._said.get(child, child) for child in term.children])
        if not _is_join(new):
            new = self._reading_all(new)
        said = new if self._is_cut(new) else self._as_slice(new) or self._as_join(new)
        if said is not None:
            self._said[term] = said
        elif new is not term:
            self._images[term] = new
        return said is not None or not any(self._is_cut(one) and self._has_pixels(one) for one in new.children)

    def _as_slice(self, term: Apply) -> Apply | None:
        """A term of the number of channels as a slice of a wider one: of its operands, constants are widened too."""
        if self._rewriter.size(term, CHANNELS) != self._channels:
            return None
        before = len(self._steps)
        operands = [self._widened(one) if self._rewriter.is_constant(one) else one for one in term.children]
        found = self._step(self._over(term, operands), self._is_slice)
        if found is None:
            del self._steps[before:]
        return found

    def _widened(self, constant: Term) -> Term:
        """A constant as a slice of itself with zeros behind; itself where no axis has the number of channels."""
        size = self._rewriter.size
        axis = next((at for at in (OUTPUTS, CHANNELS, LAST) if size(constant, at) == self._channels), None)
        step = None if axis is None else self._rewriter.with_zeros(constant, axis, self._more)
        return constant if step is None else self._taken(step)

    def _as_join(self, term: Apply) -> Apply | None:
        """What is computed of a join as a join of what is computed of slices; None for any other term."""
        if not any(map(self._is_cut, term.children)):
            return None
        before = len(self._steps)
        found = self._step(term, _is_join)
        parts = [] if found is None else [self._step(part, self._is_slice) or part for part in found.children]
        if found is None or not any(map(self._is_slice, parts)):
            del self._steps[before:]
            return None
        return self._over(found, parts)

    def _reading_all(self, term: Apply) -> Apply:
        """A convolution of a slice as one of all channels, with zeros in its weights; of a join of slices likewise."""
        if term.operator != "Conv":
            return term
        data = term.children[0]
        if self._is_slice(data):
            return self._step(term, lambda new: new.children[:1] == data.children) or term
        if self._is_cut(data):
            before = len(self._steps)
            found = self._reading_joined(term)
            if found is not None:
                return found
            del self._steps[before:]
        return term

    def _reading_joined(self, term: Apply) -> Apply | None:
        """A convolution of a join as the sum of one for each operand, which reads all of it, and as one again."""
        data, _, *bias = term.children
        # 1. Without its bias a convolution of a join is a sum over the operands.
        biased = self._step(term, lambda new: _is_sum(new) and _reader(new, data) is not None) if bias else None
        core = _reader(biased, data) if biased is not None else None if bias else term
        whole = None if core is None else self._step(core, _is_sum)
        parts = {} if whole is None else {part.args[0]: part for part in _summands(whole)}
        if core is None or whole is None or len(parts) != len(data.children) or parts.keys() != {*data.children}:
            return None
        # 2. Each of them reads all channels; the sum of these is one convolution of a join.
        summed = tuple(self._reading_all(parts[operand]) for operand in data.children)
        images = [part.args[0] for part in summed]
        joins = (step for step in self._rewriter.sum_rewrites(whole, summed) if _joins(step, images))
        joined = next(map(self._taken, joins), None)
        joined = None if joined is None else self._outside(joined)
        if joined is None or biased is None:
            return joined
        # 3. The bias goes back to where it was.
        operands = [joined if one is core else one for one in biased.children]
        return self._step(self._over(biased, operands), lambda new: new.children[:1] == joined.children[:1])

    def _outside(self, convolution: Apply) -> Apply:
        """A convolution of a join of what was computed of each operand, as one of what is computed of the join."""
        (join, *_) = convolution.children
        step = self._step(join, lambda new: len(new.children) == 1 and _is_join(new.children[0]))
        return convolution if step is None else self._over(convolution, [step, *convolution.children[1:]])

    def _step(self, term: Term, accepts: Callable[[Term], bool]) -> Apply | None:
        """What a rule makes of a term that is accepted; None if no rule does."""
        step = next((one for one in self._rewriter.rewrites(term) if accepts(one.image)), None)
        return None if step is None else self._taken(step)

    def _over(self, term: Apply, operands: Sequence[Term]) -> Apply:
        """The same operator on other operands."""
        new = self._rewriter.with_children(term, operands)
        assert isinstance(new, Apply)
        return new

    def _taken(self, step: Step) -> Apply:
        self._steps.append(step)
        image = step.image
        assert isinstance(image, Apply)
        return image

    def _is_slice(self, term: Term) -> bool:
        if not isinstance(term, Apply) or term.operator != "Slice" or term.attribute("axis") != CHANNELS:
            return False
        return term.attribute("sizes") == (0, self._channels, self._more)

    def _is_cut(self, term: Term) -> bool:
        """Whether a term is a slice of a wider one, or a join with some of these."""
        return self._is_slice(term) or (_is_join(term) and any(map(self._is_slice, term.children)))

    def _has_pixels(self, term: Term) -> bool:
        """Whether there are several numbers to a channel: cutting single ones, as behind a mean, takes no time."""
        return any(self._rewriter.size(term, axis) != 1 for axis in PIXELS)


def _is_join(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "Concat" and term.attribute("axis") == CHANNELS


def _is_sum(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "Add"


def _applied(term: Term) -> list[Apply]:
    return [one for one in term.children if isinstance(one, Apply)]


def _reader(term: Term, data: Term) -> Apply | None:
    """The operand of a sum whose own first operand is some data."""
    return next((one for one in _applied(term) if one.args[0] is data), None)


def _summands(term: Apply) -> list[Apply]:
    return [one for one in opened(term, _is_sum) if isinstance(one, Apply)]


def _joins(step: Step, images: Sequence[Term]) -> bool:
    """Whether a step leads to an operator on the join of some images in their order."""
    first = next(iter(step.image.children), None)
    return first is not None and _is_join(first) and list(first.children) == images
