"""The steps that lead away from one graph, each with the change of cost it promises, judged locally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from taso_opt.core.term import Apply, Const, Item, Term, postorder, with_children
from taso_opt.cost import Around, Layouts
from taso_opt.rewrite.steps import Replacements, Rewriter, Step, rules_of
from taso_opt.search.descent import descents
from taso_opt.search.folding import folding_sequences, laid_bare
from taso_opt.search.parting import parted
from taso_opt.search.rising import raised
from taso_opt.search.widening import widenings

SKETCH_DEPTH = 2
TRACE = 1e-10
"""Seconds for each operator that a change of the same cost saves: what is simpler goes before what is not."""

PLAIN_LAYOUTS = Layouts()
Sketch = Any
"""The operators at the top of a term, nested as they are."""

Rebuild = Callable[[Term, tuple[Term, ...]], Term]
Expired = Callable[[], bool]


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


@dataclass(frozen=True, eq=False)
class Remaining(Collection[Term]):
    """The terms of a graph but for some: a view, since thousands of changes of one graph would be as many sets."""

    present: frozenset[Term]
    dead: frozenset[Term]

    def __contains__(self, term: object) -> bool:
        return term in self.present and term not in self.dead

    def __iter__(self) -> Iterator[Term]:
        return (term for term in self.present if term not in self.dead)

    def __len__(self) -> int:
        return len(self.present - self.dead)


@dataclass(frozen=True)
class LocalChange:
    """What steps remove from a graph and what they add, each as outputs over a boundary of terms that stay.

    `dead` are all terms above the boundary before, `born` all after. Where a step touches terms that the runtime
    executes together with others, these are above the boundary too, on both sides. `saved` is as in a move.
    """

    steps: tuple[Step, ...]
    replacements: Replacements
    removed: tuple[Term, ...]
    kept: Collection[Term]
    added: tuple[Term, ...]
    dead: frozenset[Term]
    born: frozenset[Term]
    around: Around
    saved: int


def live_operators(terms: Iterable[Term], is_constant: Callable[[Term], bool]) -> int:
    """How many of some terms are operators that are computed when the model runs."""
    return sum(isinstance(term, Apply) and not is_constant(term) for term in terms)


class Neighbourhood:
    """One graph, indexed so that a step's local effect is found without rebuilding it."""

    def __init__(
        self,
        outputs: Sequence[Term],
        groups: Iterable[frozenset[Term]] = (),
        rebuild: Rebuild = with_children,
        layouts: Layouts = PLAIN_LAYOUTS,
        is_constant: Callable[[Term], bool] = lambda term: isinstance(term, Const),
    ) -> None:
        """`groups` are the terms that the runtime executes together; `rebuild` makes a term over other children.

        What `is_constant` is computed before the model runs.
        """
        self._layouts, self._is_constant = layouts, is_constant
        self.terms = postorder(outputs)
        self._place = {term: place for place, term in enumerate(self.terms)}
        self._group = {term: group for group in groups if len(group) > 1 for term in group}
        self._rebuild = rebuild
        self._outputs = frozenset(outputs)
        self._present = frozenset(self.terms)
        self._uses = Counter(child for term in self.terms for child in term.children)
        self._uses.update(outputs)
        self._users: dict[Term, set[Term]] = {term: set() for term in self.terms}
        for term in self.terms:
            for child in term.children:
                self._users[child].add(term)

    @property
    def size(self) -> int:
        """How many terms are computed when the model runs or are operands of these; what weights are made of is not."""
        live = [term for term in self.terms if not self._is_constant(term)]
        return len({*live, *(child for term in live for child in term.children)})

    def only_consumer(self, term: Term) -> Term | None:
        """The one term that uses `term`, None when several do or an output is it."""
        return next(iter(self._users[term]), None) if self._uses[term] == 1 else None

    def used_by(self, term: Term, users: Collection[Term]) -> bool:
        """Whether some terms are all that uses `term`, and no output is it; nothing here uses what steps have made."""
        here = self._users.get(term, ())
        return self._uses[term] == sum(user.children.count(term) for user in here if user in users)

    def descents(self, rewriter: Rewriter, expired: Expired) -> Iterator[tuple[tuple[Step, ...], Replacements]]:
        """Sequences that take a slice down to where what it leaves away is not computed."""
        terms = takewhile(lambda term: not expired(), self.terms)
        return descents(terms, self._present, self.used_by, rewriter)

    def widenings(self, rewriter: Rewriter) -> Iterator[tuple[tuple[Step, ...], Replacements]]:
        """Sequences that fill blocks of channels where the runtime leaves its blocked layout."""
        return widenings(self.terms, self._outputs, self._layouts.converted, rewriter)

    def raised(self, rewriter: Rewriter) -> tuple[tuple[Step, ...], Replacements]:
        """The steps that compute lines as images of one row."""
        return raised(self.terms, self._outputs, rewriter)

    def look(self, term: Term, rewriter: Rewriter) -> tuple[int, int]:
        """What places have in common that look alike, what uses them included."""
        consumer = self.only_consumer(term)
        return rewriter.look(term), -1 if consumer is None else rewriter.look(consumer)

    def with_undone(self, step: Step, rewriter: Rewriter) -> tuple[tuple[Step, ...], Replacements]:
        """A step, with those that take away again what it adds and undoes, as the join of all parts of a split."""
        _, new = self._built_on(image for _, image in step.replacements)
        undone = [found for found in map(rewriter.undone, new) if found is not None]
        if not undone:
            return (step,), step.replacements
        mapping = {old: image for found in undone for old, image in found.replacements}
        pairs = [(old, rewriter.replaced(image, mapping, self._present)) for old, image in step.replacements]
        if any(image is None for _, image in pairs):
            return (step,), step.replacements
        return (step, *undone), tuple((old, image) for old, image in pairs if image is not None)

    def local_change(self, steps: tuple[Step, ...], replacements: Replacements) -> LocalChange:
        """The terms that die and the terms that appear when the steps are taken."""
        images = dict(replacements)
        needed, _ = self._built_on(images.values())
        dead = self._dead(list(images), needed)
        around = self._around((*images, *dead))
        for term in sorted(around, key=self._place.__getitem__):
            new = tuple(images.get(child, child) for child in term.children)
            if term not in images and new != term.children:
                images[term] = self._rebuild(term, new)
        changed = [old for old in images if old not in around or self._is_used_beyond(old, around)]
        same = [one for one in around - dead if one not in images and self._is_used_beyond(one, around | dead)]
        same.sort(key=self._place.__getitem__)
        added = (*(images[old] for old in changed), *same)
        born = self._built_on(added, around)[1]
        dead |= around
        removed = (*(old for old in changed if old in dead), *same)
        roots = [*((old, images[old]) for old in changed), *((one, one) for one in same)]
        around_it = self._layouts.around(dead, born, roots)
        kept = Remaining(self._present, dead)
        saved = live_operators(dead, self._is_constant) - live_operators(born, self._is_constant)
        return LocalChange(steps, replacements, removed, kept, added, dead, frozenset(born), around_it, saved)

    def _around(self, terms: Iterable[Term]) -> frozenset[Term]:
        """What the runtime executes together with some of the terms."""
        nothing: frozenset[Term] = frozenset()
        return nothing.union(*{self._group.get(term, nothing) for term in terms})

    def _is_used_beyond(self, term: Term, around: frozenset[Term]) -> bool:
        return term in self._outputs or not around.issuperset(self._users[term])

    def _built_on(self, added: Iterable[Term], above: Collection[Term] = ()) -> tuple[set[Term], set[Term]]:
        """The present terms that the added ones are built on, and the new ones among and below these.

        Present terms that are `above` the boundary are taken for new.
        """
        present: set[Term] = set()
        new: set[Term] = set()
        stack = list(added)
        while stack:
            term = stack.pop()
            if term in self._present and term not in above:
                present.add(term)
            elif term not in new:
                new.add(term)
                stack.extend(term.children)
        return present, new

    def _dead(self, replaced: Sequence[Term], needed: set[Term]) -> frozenset[Term]:
        uses = dict.fromkeys(replaced, 0)
        dead: dict[Term, None] = {}
        stack = [term for term in replaced if term not in needed]
        while stack:
            term = stack.pop()
            if term in dead:
                continue
            dead[term] = None
            for child in term.children:
                left = uses.get(child, self._uses[child]) - 1
                uses[child] = left
                if left <= 0 and child not in needed:
                    stack.append(child)
        return frozenset(dead)


def combined(moves: Sequence[tuple[Move, LocalChange]], bearable: float = 0.0) -> Move | None:
    """The most promising moves that leave each other alone, as one move; None if there are fewer than two.

    Those that lose are taken as long as the sum is bearable.
    """
    taken: list[Move] = []
    touched: set[Term] = set()
    for move, change in sorted(moves, key=lambda entry: entry[0].change):
        roots = {old for old, _ in move.replacements}
        if roots & touched or change.dead & touched:
            continue
        if move.change > 0 and sum(one.change for one in taken) + move.change > bearable:
            break
        touched |= roots | change.dead
        taken.append(move)
    if len(taken) < 2:
        return None
    steps = tuple(step for move in taken for step in move.steps)
    replacements = tuple(pair for move in taken for pair in move.replacements)
    return Move(steps, replacements, sum(move.change for move in taken), sum(move.saved for move in taken))


Pricing = Callable[[Sequence[LocalChange], float], list[float | None]]
"""The changes of cost, in seconds, of local changes, None for what is not worth pricing; the other operand says how
many seconds a rule may cost in all where it is applied everywhere."""


def moves_from(
    here: Neighbourhood,
    rewriter: Rewriter,
    price: Pricing,
    with_sequences: bool,
    bearable: float = 0.0,
    expired: Expired = lambda: False,
) -> tuple[list[Move], list[Move]]:
    """Every step on the graph as a move, and the joint moves: all gains of one rule, and all gains together.

    What one rule changes everywhere without a change of cost, with fewer operators or with as many, or for no more than
    `bearable` seconds in all, is a joint move as well, since gains may wait behind it; and so is what changes nothing
    and leads to the same everywhere, where a rule fits in several ways.
    With sequences, those short sequences of steps that fold weights and gain as a whole are moves too. A graph of
    thousands of operators has more steps than there may be time for: once it is `expired`, those found are all.
    """
    steps = takewhile(lambda step: not expired(), rewriter.steps(here.terms))
    priced = _priced([here.local_change(*here.with_undone(step, rewriter)) for step in steps], price, bearable)
    if with_sequences:
        sequences = [here.local_change(*sequence) for sequence in here.descents(rewriter, expired)]
        found = (*_folding(here, rewriter, price, expired), *_priced(sequences, price))
        priced += [(move, change) for move, change in found if move.change < 0]
    gains = [(move, change) for move, change in priced if move.change < 0]
    others = [(move, change) for move, change in priced if 0 <= move.change <= bearable]
    level = [(move, change) for move, change in others if move.change == 0]
    free = [(move, change) for move, change in gains if move.is_free]
    groups = (*_by_rule(gains), gains, *_by_rule(free), *_by_rule(level), *_by_rule(others), *_alike(level))
    joint = dict.fromkeys(move for move in (combined(group, bearable) for group in groups) if move is not None)
    return [move for move, _ in priced], list(joint)


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
    steps = (
        here.with_undone(step, rewriter) for step in takewhile(lambda step: not expired(), rewriter.steps(here.terms))
    )
    terms = takewhile(lambda term: not expired(), here.terms)
    sequences = laid_bare(terms, here.only_consumer, rewriter.sums(here.terms), rewriter)
    changes = (here.local_change(*sequence) for sequence in (*steps, *sequences))
    priced = _priced([change for change in changes if change.saved > 0 and keeps_work(change)], price)
    free = [(move, change) for move, change in priced if move.is_free or _is_laid_bare(move, rewriter)]
    joint = [combined(group) for group in (free, *_by_rule(free))]
    return [*(move for move in joint if move is not None), *(move for move, _ in free)]


def _is_laid_bare(move: Move, rewriter: Rewriter) -> bool:
    """Whether a move gains by a definition of which the parts go into weights."""
    defined, *folds = move.steps
    return move.change < 0 and bool(folds) and rewriter.is_defined(defined.replacements[0][0])


def widening_moves(here: Neighbourhood, rewriter: Rewriter, price: Pricing) -> list[Move]:
    """What fills blocks of channels at a gain: for each number of channels, and for all of these at once."""
    priced = _priced([here.local_change(*sequence) for sequence in here.widenings(rewriter)], price)
    gains = [(move, change) for move, change in priced if move.change < 0]
    joint = combined(gains)
    return [*([] if joint is None else [joint]), *(move for move, _ in gains)]


def rising_move(here: Neighbourhood, rewriter: Rewriter, price: Pricing) -> Move | None:
    """What computes all lines as images of one row, where that gains."""
    steps, replacements = here.raised(rewriter)
    priced = _priced([here.local_change(steps, replacements)], price) if steps else []
    return next((move for move, _ in priced if move.change < 0), None)


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
    here: Neighbourhood, rewriter: Rewriter, price: Pricing, expired: Expired
) -> list[tuple[Move, LocalChange]]:
    """The sequences that fold weights; of places that look alike, what gains at the first one at the others too."""
    sums = rewriter.sums(here.terms)
    alike: dict[tuple[int, int], list[Term]] = {}
    for term in here.terms:
        if not rewriter.is_constant(term):
            alike.setdefault(here.look(term, rewriter), []).append(term)

    def found(places: Sequence[Term]) -> Iterator[tuple[tuple[Step, ...], Replacements]]:
        folding, parting = (takewhile(lambda _: not expired(), places) for _ in range(2))
        yield from folding_sequences(folding, here.only_consumer, sums, rewriter)
        yield from parted(parting, here.only_consumer, sums, rewriter)

    def priced(sequences: Iterable[tuple[tuple[Step, ...], Replacements]]) -> list[tuple[Move, LocalChange]]:
        changes = (here.local_change(*sequence) for sequence in sequences)
        return _priced([one for one in changes if one.saved > 0 or _combines_constants(one, rewriter)], price)

    first = priced(found([places[0] for places in alike.values()]))
    gaining: dict[Term, set[tuple[int, ...]]] = {}
    for move, _ in first:
        if move.change < 0:
            gaining.setdefault(move.steps[0].replacements[0][0], set()).add(rules_of(move.steps))
    others = [(gaining[places[0]], found(places[1:])) for places in alike.values() if places[0] in gaining]
    return first + priced(one for rules, sequences in others for one in sequences if rules_of(one[0]) in rules)


def _combines_constants(change: LocalChange, rewriter: Rewriter) -> bool:
    """Whether several constants become one, and not only one of them another."""
    return any(isinstance(term, Apply) and len(term.args) > 1 and rewriter.is_constant(term) for term in change.born)
