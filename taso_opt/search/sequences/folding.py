"""Sequences of steps that begin by combining weights, such as x (A B) in place of (x A) B."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Const, Term, opened
from taso_opt.rewrite.finding.step import Step, StepSequence, leaves_whole, operators_saved, rules_of
from taso_opt.rewrite.patterns.lift import FOLDABLE
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.lookahead import IsHopeless
from taso_opt.search.sequences.parting import Sums, fold, in_sum, sum_with
from taso_opt.search.sequences.regrouping import again

SEQUENCE_LENGTH = 3
SEQUENCE_BREADTH = 200
SEQUENCES_ALIKE = 4
"""By the same rules, from one place."""

FEW_OPERANDS = 8
"""Of a sum in which prepared weights meet any other: in longer ones only what stands beside them is tried."""

LEVELS, DEEPER = 3, 1
"""Below a term, where rules put numbers; and below such a product, where constants are that these go into."""

MANY_MORE = 4
"""Operators that a step adds which takes something apart."""

OnlyConsumer = Callable[[Term], Term | None]
"""The one term that uses a term, None where several do."""


def folding_sequences(
    terms: Iterable[Term],
    only_consumer: OnlyConsumer,
    sums: Sums,
    rewriter: Rewriter,
    is_hopeless: IsHopeless = lambda rules: False,
) -> Iterator[StepSequence]:
    """The sequences that begin at each of some terms.

    Combining weights may cost at first and pay only when the result meets another weight; each further step is taken
    at the replaced term, at its only consumer, or at the longer sum that it is an operand of; it goes on with what the
    last one has made, and takes nothing apart.
    Weights that are only prepared, as a kernel enlarged to the size of another, lead somewhere where a sum takes them
    up or where the same is done to them again. Of what the same rules do from one place, as with each pair of the
    operands of a sum, the first few are enough. Rules that are hopeless one after the other are not followed.
    """
    wholes = {whole: operands for whole, operands in sums.values() if len(operands) <= FEW_OPERANDS}
    for term in terms:
        found: Counter[tuple[int, ...]] = Counter()
        for sequence in chain(
            _from_place(term, only_consumer, sums, rewriter, is_hopeless),
            _within(term, wholes[term], rewriter, is_hopeless) if term in wholes else (),
        ):
            rules = rules_of(sequence[0])
            found[rules] += 1
            if found[rules] <= SEQUENCES_ALIKE and not is_hopeless(rules):
                yield sequence


def laid_bare(
    terms: Iterable[Term], only_consumer: OnlyConsumer, sums: Sums, rewriter: Rewriter
) -> Iterator[StepSequence]:
    """The sequences that begin with the definition of an operator and fold what it lays bare into weights.

    Those are below it, or beside it in a sum, as where a batch normalization is added to a convolution of the same.
    """
    for term in terms:
        if rewriter.is_defined(term) and not rewriter.is_constant(term):
            for step in rewriter.rewrites(term):
                if rewriter.folded(step):
                    below = list(_taken_in(term, step, rewriter))
                    yield from below or _taken_beside(term, step, only_consumer(term), sums, rewriter)


def _from_place(
    term: Term, only_consumer: OnlyConsumer, sums: Sums, rewriter: Rewriter, is_hopeless: IsHopeless
) -> Iterator[StepSequence]:
    for step in rewriter.rewrites(term):
        if is_hopeless(rules_of((step,))):
            continue
        yield from _numbers_taken_in(step, rewriter)
        if rewriter.prepares_weights(step.image):
            yield from _prepared(term, step, only_consumer(term), sums, rewriter)
        elif rewriter.folded(step) and not rewriter.parts_weights(step):
            taken_in = list(_taken_in(term, step, rewriter)) if rewriter.is_defined(term) else []
            if taken_in or not _only_respells(step, rewriter):
                yield from taken_in or _continued(term, step, only_consumer, sums, rewriter, is_hopeless)


def _within(
    whole: Term, operands: tuple[Term, ...], rewriter: Rewriter, is_hopeless: IsHopeless
) -> Iterator[StepSequence]:
    """What combines weights of some operands of a longer sum, with a step that joins it and others.

    As where an image that is added goes into the kernel of one of its convolutions, and this into that of another.
    """
    assert isinstance(whole, Apply), f"expected a sum or product, found {whole!r}"
    weights = {child for operand in operands for child in operand.children}
    for first in rewriter.sum_rewrites(whole, operands):
        left = _operands(first.image, whole, frozenset(operands))
        made = [one for one in left if one not in operands]
        combined = {child for one in made for child in one.children if isinstance(child, Apply)} - weights
        if is_hopeless(rules_of((first,))) or not any(map(rewriter.is_constant, combined)):
            continue
        following = rewriter.sum_rewrites(whole, left) if len(left) > 2 else rewriter.rewrites(first.image)
        for step in following:
            if not leaves_whole(step, made) and not _takes_apart(step, rewriter):
                yield (first, step), ((whole, step.image),)


def _only_respells(step: Step, rewriter: Rewriter) -> bool:
    """Whether a step changes no more of weights than their shapes: a scale as a kernel, a bias as a sum."""
    known = step.root.children
    return all(
        weights.operator == "Reshape" and (isinstance(weights.args[0], Const) or weights.args[0] in known)
        for weights in rewriter.folded(step)
    )


def _prepared(term: Term, first: Step, consumer: Term | None, sums: Sums, rewriter: Rewriter) -> Iterator[StepSequence]:
    steps: tuple[Step, ...] = (first,)
    prepared = first.image
    if term in sums and len(sums[term][1]) <= FEW_OPERANDS:
        for step in in_sum(term, prepared, consumer, sums, rewriter):
            yield (first, step), step.replacements
    elif isinstance(consumer, Apply) and consumer.operator in FOLDABLE:
        for step in rewriter.rewrites(rewriter.with_child(consumer, term, prepared)):
            yield (first, step), ((consumer, step.image),)
    latest = again(first, rewriter)
    while latest is not None and len(steps) < SEQUENCE_LENGTH:
        steps = (*steps, latest)
        yield steps, ((term, latest.image),)
        latest = again(latest, rewriter)


def _taken_in(term: Term, first: Step, rewriter: Rewriter) -> Iterator[StepSequence]:
    """What lays constants bare, with the steps that fold these into weights below, as far as they go.

    As where a batch normalization becomes a product and a sum, and both go into the convolution before it.
    """
    steps: tuple[Step, ...] = (first,)
    new = first.image
    while len(steps) <= SEQUENCE_LENGTH:
        folds = ((part, fold(part, rewriter)) for part in (new, *new.children))
        part, step = next((one for one in folds if one[1] is not None), (new, None))
        if step is None:
            return
        image = step.image
        steps, new = (*steps, step), image if part is new else rewriter.with_child(new, part, image)
        yield steps, ((term, new),)


def _numbers_taken_in(first: Step, rewriter: Rewriter) -> Iterator[StepSequence]:
    """A step that multiplies by numbers of its own, which go into factors that are there already.

    As the sigmoid of 2 y that a tanh of y becomes, where y is a product with a constant.
    """
    known = set(_upper(first.root))
    for product in _upper(first.image):
        if product is not first.image and product not in known and _has_number(product):
            steps, taken_in = _taken_in_by(product, rewriter, DEEPER)
            image = rewriter.replaced(first.image, {product: taken_in}) if steps else None
            if image is not None:
                yield (first, *steps), ((first.root, image),)


def _has_number(term: Term) -> bool:
    """Whether a term is a product with a number of a rule."""
    return (
        isinstance(term, Apply) and term.operator == "Mul" and any(literal_value(one) is not None for one in term.args)
    )


def _taken_in_by(product: Term, rewriter: Rewriter, deeper: int) -> tuple[tuple[Step, ...], Term]:
    """The steps by which the number of a product goes into a constant of its other factor, and what they lead to."""
    steps = rewriter.rewrites(product)
    for step in steps:
        if rewriter.folded(step):
            return (step,), step.image
    for step in steps if deeper else ():
        for part in filter(_has_number, step.image.children):
            following, taken_in = _taken_in_by(part, rewriter, deeper - 1)
            if following:
                return (step, *following), rewriter.with_child(step.image, part, taken_in)
    return (), product


def _upper(term: Term, levels: int = LEVELS) -> Iterator[Term]:
    """A term and what is below it within so many levels."""
    yield term
    if levels:
        for child in term.children:
            yield from _upper(child, levels - 1)


def _taken_beside(
    term: Term, first: Step, consumer: Term | None, sums: Sums, rewriter: Rewriter
) -> Iterator[StepSequence]:
    """What lays constants bare, with one or two steps that join its parts with what else is added."""
    place = sum_with(term, first.image, consumer, sums)
    if place is None:
        return
    whole, operands = place
    for step in rewriter.sum_rewrites(whole, operands):
        yield (first, step), step.replacements
        joined = _operands(step.image, whole, frozenset(operands))
        for another in rewriter.sum_rewrites(whole, joined):
            yield (first, step, another), another.replacements


def _operands(term: Term, whole: Apply, known: frozenset[Term]) -> tuple[Term, ...]:
    """The operands of a sum that was made of known ones."""

    def is_open(one: Term) -> bool:
        return one not in known and isinstance(one, Apply) and one.operator == whole.operator

    return tuple(opened(term, is_open))


def _takes_apart(step: Step, rewriter: Rewriter) -> bool:
    """Whether a step puts many operators in the place of few, or takes weights apart: that combines nothing."""
    return -operators_saved(step) >= MANY_MORE or rewriter.parts_weights(step)


def _continued(
    term: Term,
    first: Step,
    only_consumer: OnlyConsumer,
    sums: Sums,
    rewriter: Rewriter,
    is_hopeless: IsHopeless,
) -> Iterator[StepSequence]:
    made = first.image
    reached = {made}
    frontier = [_Folded(term, made, made, (first,))]
    for _ in range(SEQUENCE_LENGTH):
        following: list[_Folded] = []
        for one in frontier:
            places, consumer = [one], only_consumer(one.root)
            if consumer is not None:
                above = rewriter.with_child(consumer, one.root, one.image)
                places.append(replace(one, root=consumer, image=above))
            following += [further for place in places for further in _further(place, rewriter)]
            following += places[1:]
            joined = in_sum(one.root, one.image, consumer, sums, rewriter)
            following += [one.then(step, step.root) for step in joined]
        frontier = []
        for one in following:
            if one.image in reached or len(reached) > SEQUENCE_BREADTH or is_hopeless(rules_of(one.steps)):
                continue
            reached.add(one.image)
            frontier.append(one)
            if len(one.steps) > 1:
                yield one.steps, ((one.root, one.image),)


@dataclass(frozen=True)
class _Folded:
    """How far a sequence is: the term that it replaces, the image of that, and in this what its last step has made."""

    root: Term
    image: Term
    made: Term
    steps: tuple[Step, ...]

    def then(self, step: Step, root: Term) -> _Folded:
        """The sequence with one step more, at which it replaces this root."""
        image = step.image
        return _Folded(root, image, image, (*self.steps, step))


def _further(place: _Folded, rewriter: Rewriter) -> Iterator[_Folded]:
    """The sequence with one step more at the image of what it replaces; one that goes on with what was made last."""
    for step in rewriter.rewrites(place.image):
        goes_on = place.image is place.made or not leaves_whole(step, (place.made,))
        if goes_on and not _takes_apart(step, rewriter):
            yield place.then(step, place.root)
