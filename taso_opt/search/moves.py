"""The steps that lead away from one graph, each with the change of cost it promises, judged locally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from taso_opt.core.term import Apply, Item, Term
from taso_opt.rewrite.finding.step import Replacements, Step, StepSequence, rules_of
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.neighbourhood import Expired, LocalChange, Neighbourhood
from taso_opt.search.sequences.bracketing import bracketed, brackets_anew
from taso_opt.search.sequences.collapsing import collapsed
from taso_opt.search.sequences.folding import folding_sequences, laid_bare
from taso_opt.search.sequences.lookahead import IsHopeless
from taso_opt.search.sequences.parting import Sums, is_repeated, parted
from taso_opt.search.sequences.unjoining import unjoined
from taso_opt.search.trials import Trials, rounds

SKETCH_DEPTH = 2
TRACE = 1e-10
"""Seconds for each operator that a change of the same cost saves: what is simpler goes before what is not."""

JOINT, ANOTHER_PLACE = 0.25, 0.1
"""Of how many steps a move counts as a detour: joint ones are few and lead far, and what a rule does at one place says
most of what it does at another."""

PRODUCTS = frozenset({"Conv", "MatMul"})
"""What is taken apart so that one part of it can go into weights or be computed elsewhere."""

Sketch = Any
"""The operators at the top of a term, nested as they are."""


@dataclass(frozen=True)
class Move:
    """Steps taken at once or one after the other, what they replace in all, and what is predicted to change.

    `change` is in seconds, `saved` says how many operators fewer are computed when the model runs.
    """

    steps: tuple[Step, ...]
    replacements: Replacements
    change: float
    saved: int = 0

    @property
    def is_free(self) -> bool:
        """Whether there are fewer operators for it, and no other gain."""
        return 0 > self.change >= -2 * TRACE * self.saved


def combined(moves: Sequence[tuple[Move, LocalChange]], bearable: float = 0.0) -> Move | None:
    """The most promising moves that leave each other alone, as one move; None if there are fewer than two.

    Those that lose are taken as long as the sum is bearable.
    """
    taken: list[Move] = []
    touched: set[Term] = set()
    total = 0.0
    for move, change in sorted(moves, key=lambda entry: entry[0].change):
        roots = {old for old, _ in move.replacements}
        if roots & touched or change.dead & touched:
            continue
        if move.change > 0 and total + move.change > bearable:
            break
        touched |= roots | change.dead
        total += move.change
        taken.append(move)
    if len(taken) < 2:
        return None
    steps = tuple(step for move in taken for step in move.steps)
    replacements = tuple(pair for move in taken for pair in move.replacements)
    return Move(steps, replacements, total, sum(move.saved for move in taken))


Pricing = Callable[[Sequence[LocalChange], float], list[float | None]]
"""The changes of cost, in seconds, of local changes, None for what is not worth pricing; the other operand says how
many seconds a rule may cost in all where it is applied everywhere."""


def moves_from(
    here: Neighbourhood,
    rewriter: Rewriter,
    price: Pricing,
    trials: Trials | None = None,
    bearable: float = 0.0,
    expired: Expired = lambda: False,
) -> tuple[list[Move], list[Move]]:
    """Every step on the graph as a move, and the joint moves: all gains of one rule, and all gains together.

    What one rule changes everywhere without a change of cost, with fewer operators or with as many, or for no more than
    `bearable` seconds in all, is a joint move as well, since gains may wait behind it; so is what takes a product apart
    at such a loss where a rule fits at one place alone; and so is what changes nothing and leads to the same
    everywhere, where a rule fits in several ways.
    With `trials`, of which those of earlier graphs count, those short sequences of steps that fold weights and gain as
    a whole are moves too. A graph of thousands of operators has more steps than there may be time for: once it is
    `expired`, those found are all.
    """
    changes = here.changes(rewriter, expired)
    priced = _priced(changes, price, bearable)
    if trials is not None:
        steps = [change.steps[0] for change in changes]
        apart = unjoined(takewhile(lambda _: not expired(), here.terms), rewriter)
        sequences = [
            here.local_change(*one)
            for one in (*here.descents(rewriter, steps, expired), *here.pictured(rewriter), *apart)
        ]
        found = (*_folding(here, rewriter, price, trials, expired), *_priced(sequences, price))
        priced += [(move, change) for move, change in found if move.change < 0]
    gains = [(move, change) for move, change in priced if move.change < 0]
    others = [(move, change) for move, change in priced if 0 <= move.change <= bearable]
    level = [(move, change) for move, change in others if move.change == 0]
    free = [(move, change) for move, change in gains if move.is_free]
    groups = (*_by_rule(gains), gains, *_by_rule(free), *_by_rule(level), *_by_rule(others), *_alike(level))
    moves = (combined(group, bearable) for group in groups)
    opening = [move for move in _taking_apart(priced) if 0 < move.change <= bearable]
    joint = {move.replacements: move for move in (*moves, *opening) if move is not None}
    return [move for move, _ in priced if move.replacements not in joint], list(joint.values())


def _taking_apart(priced: Sequence[tuple[Move, LocalChange]]) -> Iterator[Move]:
    """What a rule that fits at one place alone does there, where it makes several products or convolutions of one."""
    for (move, change), *others in _by_rule(priced):
        if not others and _products(change.born) > _products(change.dead):
            yield move


def _products(terms: Iterable[Term]) -> int:
    return sum(isinstance(term, Apply) and term.operator in PRODUCTS and not term.is_constant for term in terms)


def narrow_losses(
    here: Neighbourhood, rewriter: Rewriter, price: Pricing, bearable: float, expired: Expired = lambda: False
) -> list[Move]:
    """What one rule does everywhere, with fewer operators, at a loss of so many seconds at most; the least first."""
    changes = [change for change in here.changes(rewriter, expired) if change.saved > 0]
    losing = [(move, change) for move, change in _priced(changes, price, bearable) if move.change > 0]
    moves = (combined(group, bearable) for group in _by_rule(losing))
    return sorted((move for move in moves if move is not None), key=lambda move: move.change)


def free_moves(
    here: Neighbourhood,
    rewriter: Rewriter,
    price: Pricing,
    keeps_work: Callable[[LocalChange], bool],
    expired: Expired = lambda: False,
) -> list[Move]:
    """What costs nothing and leaves fewer operators: steps, sequences that fold constants, and all of these at once.

    Sequences that begin with a definition may gain as well: where its parts go into weights, nothing is left to spell.
    Only what `keeps_work` is meant: products that are joined may cost as much as they do apart, and yet bar the way.
    """
    terms = takewhile(lambda term: not expired(), here.terms)
    sequences = laid_bare(terms, here.only_consumer, rewriter.sums(here.terms), rewriter)
    changes = (*here.changes(rewriter, expired), *(here.local_change(*sequence) for sequence in sequences))
    priced = _priced([change for change in changes if change.saved > 0 and keeps_work(change)], price)
    free = [(move, change) for move, change in priced if move.is_free or _is_laid_bare(move, rewriter)]
    joint = [combined(group) for group in (free, *_by_rule(free))]
    return [*(move for move in joint if move is not None), *(move for move, _ in free)]


def simpler_moves(
    here: Neighbourhood, rewriter: Rewriter, price: Pricing, expired: Expired = lambda: False
) -> list[Move]:
    """What computes the same element by element with fewer operators at a gain: all at once, by rule, one by one."""
    changes = [one for one in here.changes(rewriter, expired) if one.saved > 0 and _is_light(one, rewriter)]
    gains = [(move, change) for move, change in _priced(changes, price) if move.change < 0]
    joint = [combined(group) for group in (gains, *_by_rule(gains))]
    return [*(move for move in joint if move is not None), *(move for move, _ in gains)]


def _is_light(change: LocalChange, rewriter: Rewriter) -> bool:
    """Whether all that a change does away with or adds is computed element by element, or ahead of time."""
    touched = (term for term in change.dead | change.born if isinstance(term, Apply))
    return all(rewriter.is_light(term) or rewriter.is_constant(term) for term in touched)


def _is_laid_bare(move: Move, rewriter: Rewriter) -> bool:
    """Whether a move gains by a definition of which the parts go into weights."""
    defined, *folds = move.steps
    return move.change < 0 and bool(folds) and rewriter.is_defined(defined.root)


def widening_moves(here: Neighbourhood, rewriter: Rewriter, price: Pricing) -> list[Move]:
    """What fills blocks of channels at a gain: for each number of channels, and for all of these at once."""
    priced = _priced([here.local_change(*sequence) for sequence in here.widenings(rewriter)], price)
    gains = [(move, change) for move, change in priced if move.change < 0]
    joint = combined(gains)
    return [*([] if joint is None else [joint]), *(move for move, _ in gains)]


def rising_move(here: Neighbourhood, rewriter: Rewriter, price: Pricing) -> Move | None:
    """What computes all lines as images of one row, whether that gains or not; None where there are none."""
    steps, replacements = here.raised(rewriter)
    priced = _priced([here.local_change(steps, replacements)], price) if steps else []
    return next((move for move, _ in priced), None)


def picturing_move(here: Neighbourhood, rewriter: Rewriter, price: Pricing, bearable: float) -> Move | None:
    """What computes rows as pixels wherever that loses no more than so many seconds in all; None where nothing does."""
    priced = _priced([here.local_change(*sequence) for sequence in here.pictured(rewriter)], price, bearable)
    joint = combined(priced, bearable)
    alone = min((move for move, _ in priced), key=lambda move: move.change, default=None)
    return joint or (alone if alone is not None and alone.change <= bearable else None)


def chaining_move(here: Neighbourhood, rewriter: Rewriter, price: Pricing, expired: Expired) -> Move | None:
    """What says all of a recurrence, a line or looked-up rows as one operator at the largest gain; None without one."""
    sequences = (
        *here.chained(rewriter, expired),
        *here.unrolled(rewriter, expired),
        *here.condensed(rewriter, expired),
        *here.tabulated(rewriter),
    )
    priced = _priced([here.local_change(*sequence) for sequence in sequences], price)
    return min((move for move, _ in priced if move.change < 0), key=lambda move: move.change, default=None)


def _by_rule(moves: Iterable[tuple[Move, LocalChange]]) -> Iterable[list[tuple[Move, LocalChange]]]:
    groups: dict[tuple[int, ...], list[tuple[Move, LocalChange]]] = {}
    for move, change in moves:
        groups.setdefault(rules_of(move.steps), []).append((move, change))
    return groups.values()


def _alike(moves: Iterable[tuple[Move, LocalChange]]) -> Iterable[list[tuple[Move, LocalChange]]]:
    """The moves of one rule that lead to the same operators on the same kinds of operands."""
    groups: dict[tuple[Sketch, ...], list[tuple[Move, LocalChange]]] = {}
    for move, change in moves:
        images = tuple(_sketch(image, SKETCH_DEPTH) for _, image in move.replacements)
        groups.setdefault((*rules_of(move.steps), *images), []).append((move, change))
    return groups.values()


def _sketch(term: Term, depth: int) -> Sketch:
    """The operators at the top of a term, with their attributes."""
    if isinstance(term, Item):
        return _sketch(term.term, depth)
    if not isinstance(term, Apply):
        return type(term).__name__
    operands = frozenset(_sketch(operand, depth - 1) for operand in term.args) if depth else ()
    return term.operator, term.attributes, operands


def _priced(changes: Sequence[LocalChange], price: Pricing, bearable: float = 0.0) -> list[tuple[Move, LocalChange]]:
    return [
        (Move(change.steps, change.replacements, cost, change.saved), change)
        for change, cost in zip(changes, price(changes, bearable), strict=True)
        if cost is not None
    ]


def _folding(
    here: Neighbourhood, rewriter: Rewriter, price: Pricing, trials: Trials, expired: Expired
) -> list[tuple[Move, LocalChange]]:
    """The sequences that fold weights; of places that look alike, what gains at the first one at the others too.

    What has gained nowhere by then is not tried at further looks.
    """
    sums = rewriter.sums(here.terms)
    alike: dict[tuple[int, int], list[Term]] = {}
    for term in here.terms:
        if not rewriter.is_constant(term):
            alike.setdefault(here.look(term, rewriter), []).append(term)

    def found(places: Sequence[Term], is_hopeless: IsHopeless) -> list[StepSequence]:
        return _sequences(lambda: takewhile(lambda _: not expired(), places), here, sums, rewriter, is_hopeless)

    def changes(sequences: Iterable[StepSequence]) -> list[tuple[Move, LocalChange]]:
        local = (here.local_change(*sequence) for sequence in sequences)
        return _priced([one for one in local if _is_worth_pricing(one, rewriter)], price)

    first: list[tuple[Move, LocalChange]] = []
    for places in rounds([places[0] for places in alike.values()]):
        sequences = found(places, trials.is_hopeless)
        moves = changes(sequences)
        trials.note((steps for steps, _ in sequences), (move.steps for move, _ in moves if move.change < 0))
        first += moves
    gaining: dict[Term, set[tuple[int, ...]]] = {}
    for move, _ in first:
        if move.change < 0:
            for place in (move.steps[0].root, move.replacements[0][0]):  # a spelling may begin inside of its place
                gaining.setdefault(place, set()).add(rules_of(move.steps))
    others: list[StepSequence] = []
    for places in alike.values():
        wanted = gaining.get(places[0], set())
        sequences = found(places[1:], _begin_none_of(wanted)) if wanted else []
        others += [one for one in sequences if rules_of(one[0]) in wanted]
    return first + changes(others)


def _sequences(
    places: Callable[[], Iterable[Term]], here: Neighbourhood, sums: Sums, rewriter: Rewriter, is_hopeless: IsHopeless
) -> list[StepSequence]:
    """The sequences of all kinds that begin at some places and gain as a whole or not at all."""
    consumer = here.only_consumer
    return [
        *folding_sequences(places(), consumer, sums, rewriter, is_hopeless),
        *parted(places(), consumer, sums, rewriter),
        *collapsed(places(), consumer, rewriter, is_hopeless),
        *bracketed(places(), rewriter, is_hopeless),
    ]


def _begin_none_of(wanted: Iterable[tuple[int, ...]]) -> IsHopeless:
    """Tells whether rules, one after the other, lead to none of some sequences of rules."""
    begun = {rules[:length] for rules in wanted for length in range(len(rules) + 1)}
    return lambda rules: rules not in begun


def _is_worth_pricing(change: LocalChange, rewriter: Rewriter) -> bool:
    """Whether operators are saved, constants combined, products multiplied in another order or for each row of a table.

    Or whether weights are prepared in one way again, as where groups are paired twice.
    """
    if change.saved > 0 or _combines_constants(change, rewriter) or _prepares_again(change.steps, rewriter):
        return True
    return len(change.steps) > 1 and (brackets_anew(change.steps[-1]) or is_repeated(change.steps[-1].image))


def _prepares_again(steps: Sequence[Step], rewriter: Rewriter) -> bool:
    return len(steps) > 1 and len(set(rules_of(steps))) == 1 and rewriter.prepares_weights(steps[0].image)


def _combines_constants(change: LocalChange, rewriter: Rewriter) -> bool:
    """Whether several constants become one, and not only one of them another."""
    return any(isinstance(term, Apply) and len(term.args) > 1 and rewriter.is_constant(term) for term in change.born)


def lengths(joint: Iterable[Move], single: Iterable[Move], meaningful: float) -> Iterator[tuple[Move, float, float]]:
    """The moves, with how long a detour each is where it does not pay at once, and the loss that it need not wait for.

    What only swaps operators for others of nearly the same cost, as Relu for Max, opens no way. What is done everywhere
    leads far, and there is little of it.
    """
    for move in joint:
        swaps = move.saved == 0 and 0 < abs(move.change) < meaningful
        yield move, 1 if swaps else JOINT, max(move.change, 0.0)
    places: Counter[int] = Counter()
    for move in single:
        rule = id(move.steps[0].rule)
        yield move, 1 + ANOTHER_PLACE * places[rule], 0.0
        places[rule] += 1
