"""What local changes of a graph cost, measuring as little for that as will do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from taso_opt.core.term import Term
from taso_opt.cost import Around
from taso_opt.rewrite.finding.step import rules_of
from taso_opt.search.moves import TRACE
from taso_opt.search.neighbourhood import LocalChange
from taso_opt.search.oracle import CostOracle
from taso_opt.search.sequences.folding import MANY_MORE

NOISE = 0.02
"""Measured costs of units differ by as much from one measurement to the next."""

MOST_WORK, WORTH_MEASURING = 4, 1_000_000
"""How many times the multiplications of what it replaces a change may take, beside a million, to be measured."""

HOPELESS = 2.0
"""How many times the cost of what it replaces a change must be guessed to take, not to be measured. One guess of ten is
too high by more than a factor of 1.2 to 1.8, by network."""

TRIALS = 8
"""In how many ways that differ in what has to be measured a rule is tried before it is priced everywhere."""


@dataclass(frozen=True, eq=False)
class _Side:
    """What a local change removes or what it adds, where it is; the first found of those that are alike."""

    outputs: tuple[Term, ...]
    kept: Collection[Term]
    around: Around


_Sides = tuple[_Side, _Side]


class Prices:
    """The prices of the local changes of one search, over a cost model that measures what is asked of it."""

    def __init__(self, cost: CostOracle[Any]) -> None:
        self._cost = cost
        self._sides: dict[tuple[tuple[Term, ...], frozenset[Term], Around], _Side] = {}
        self._alike: dict[Hashable, _Side] = {}
        self._units: dict[_Side, Sequence[Any]] = {}
        self._kernels: dict[_Side, Sequence[Any]] = {}

    def of(self, changes: Sequence[LocalChange], bearable: float = 0.0) -> list[float | None]:
        """The change of cost of each local change in seconds; everything not yet measured is measured in a few batches.

        None stands for what is not worth measuring: what multiplies many times as much as what it replaces, or just
        more but with many operators more, as tiles of a convolution of few channels do; and what belongs to a rule
        that loses wherever it was tried and could not be applied everywhere for `bearable` seconds, since what a rule
        does at some places of a graph says most of what it does at the others. What is guessed to lose by far has that
        for a price.
        """
        sides = [(self._side(change, False), self._side(change, True)) for change in changes]
        costs: dict[int, float] = {}
        rules = self._by_rule(changes, sides)
        # 1. Try each rule in one way, and then in a few that differ.
        for most in (1, TRIALS):
            trials = [_spread(ways, most) for ways in rules]
            self._price(costs, changes, sides, [place for places in trials for place in places])
        # 2. Price the other places of the rules that do not always lose.
        rest: list[int] = []
        for ways, tried in zip(rules, trials, strict=True):
            places = [place for way in ways for place in way]
            losses = [costs[place] for place in tried]
            if min(losses) <= 0 or sum(losses) / len(losses) * len(places) <= bearable:
                rest += places
        self._price(costs, changes, sides, rest)
        return [costs.get(place) for place in range(len(changes))]

    def keeps_work(self, change: LocalChange) -> bool:
        """Whether as many products and convolutions of the same sizes run after a change as before."""
        before, after = (self._units_of(self._side(change, later)) for later in (False, True))
        return self._sizes(before) == self._sizes(after)

    def _side(self, change: LocalChange, after: bool) -> _Side:
        """One side of a change; where what is alike was seen before, that one, so that all of it is found once."""
        outputs, inner = (change.added, change.born) if after else (change.removed, change.dead)
        place = outputs, inner, change.around
        known = self._sides.get(place)
        if known is None:
            likeness = self._cost.likeness(outputs, change.kept, change.around)
            known = self._alike.setdefault(likeness, _Side(outputs, change.kept, change.around))
            self._sides[place] = known
        return known

    def _by_rule(self, changes: Sequence[LocalChange], sides: Sequence[_Sides]) -> list[list[list[int]]]:
        """For each rule, or sequence of rules, the places among the changes that may pay, by the units they lead to."""
        rules: dict[tuple[int, ...], dict[frozenset[Any], list[int]]] = {}
        for place, (before, after) in enumerate(sides):
            new = self._units_of(after)
            if self._may_pay(changes[place], before, new):
                ways = rules.setdefault(rules_of(changes[place].steps), {})
                ways.setdefault(frozenset(new), []).append(place)
        return [list(ways.values()) for ways in rules.values()]

    def _may_pay(self, change: LocalChange, removed: _Side, new: Sequence[Any]) -> bool:
        """Whether a change is worth measuring by what products and convolutions multiply before and after.

        Where what it replaces is known to take the time of so many multiplications, it is, as with slow kernels.
        """
        old, work = self._units_of(removed), self._work(new)
        if work > MOST_WORK * self._work(old) + WORTH_MEASURING and work > self._worth(removed):
            return False
        before, after = Counter(old), Counter(new)
        left_out, added = (self._work((one - other).elements()) for one, other in ((before, after), (after, before)))
        return change.saved > -MANY_MORE or not 0 < left_out < added

    def _hopeless(self, sides: Sequence[_Sides], places: Sequence[int]) -> dict[int, float]:
        """The guessed change of cost of those changes that lose by far; of what is alike it is guessed once."""
        self._cost.learn(unit for place in places for unit in self._units_of(sides[place][0]))
        guessed: dict[_Sides, float | None] = {}
        for place in places:
            if sides[place] not in guessed:
                guessed[sides[place]] = self._guessed_loss(*sides[place])
        losses = {place: guessed[sides[place]] for place in places}
        return {place: loss for place, loss in losses.items() if loss is not None}

    def _guessed_loss(self, removed: _Side, added: _Side) -> float | None:
        """By how much a change loses if it does so by far, as far as kernels that were measured tell; else None.

        How the new units would run between convolutions is not asked: conversions of layouts make it no cheaper.
        """
        old, new = (
            [self._cost.guess(unit) for unit in units] for units in (self._kernels_of(removed), self._units_of(added))
        )
        if None in old or None in new:
            return None
        before, after = (sum(one for one in side if one is not None) for side in (old, new))
        return after - before if after > HOPELESS * before > 0 else None

    def _price(
        self,
        costs: dict[int, float],
        changes: Sequence[LocalChange],
        sides: Sequence[_Sides],
        places: Iterable[int],
    ) -> None:
        """Add the change of cost at some places, where it is not there yet: guessed if it loses by far, or measured."""
        left = [place for place in places if place not in costs]
        costs.update(self._hopeless(sides, left))
        costs.update(self._priced(changes, sides, [place for place in left if place not in costs]))

    def _priced(
        self, changes: Sequence[LocalChange], sides: Sequence[_Sides], places: Sequence[int]
    ) -> dict[int, float]:
        """The change of cost of some local changes; everything not yet measured is measured in one batch.

        A difference within the noise of measured costs is none, but for a trace where fewer operators are left.
        """
        # 1. Learn how the parts of all changes run, which decides what has to be measured; measure it.
        chosen = [side for place in places for side in sides[place]]
        self._cost.learn(unit for side in chosen for unit in self._units_of(side))
        kernels = [self._kernels_of(side) for side in chosen]
        self._cost.prepare(kernel for side in kernels for kernel in side)
        # 2. Add up.
        sums = iter([sum(self._cost.known(kernel) or 0.0 for kernel in side) for side in kernels])
        return {place: difference(next(sums), next(sums)) or _trace(changes[place]) for place in places}

    def _units_of(self, side: _Side) -> Sequence[Any]:
        """The units of one side of a change: all that is needed and not kept."""
        known = self._units.get(side)
        if known is None:
            known = self._units[side] = self._cost.units(side.outputs, side.kept)
        return known

    def _kernels_of(self, side: _Side) -> Sequence[Any]:
        """The same as the runtime executes it where it stands."""
        known = self._kernels.get(side)
        if known is None:
            units = self._units_of(side)
            known = self._kernels[side] = self._cost.kernels(side.outputs, side.kept, side.around, units)
        return known

    def _sizes(self, units: Sequence[Any]) -> list[int]:
        return sorted(filter(None, map(self._cost.work, units)))

    def _work(self, units: Iterable[Any]) -> int:
        return sum(self._cost.work(unit) for unit in units)

    def _worth(self, side: _Side) -> float:
        self._cost.learn(self._units_of(side))
        return sum(self._cost.worth(kernel) for kernel in self._kernels_of(side))


def _spread(ways: Sequence[Sequence[int]], most: int) -> list[int]:
    """The places of at most so many of the ways, those at both ends among them, or of the first one."""
    last = len(ways) - 1
    chosen = sorted({trial * last // max(most - 1, 1) for trial in range(most)})
    return [place for number in chosen for place in ways[number]]


def _trace(change: LocalChange) -> float:
    return -TRACE * max(change.saved, 0)


def difference(old: float, new: float) -> float:
    """By how many seconds a cost changes, beyond what measured costs differ by anyway."""
    if math.isinf(new):
        return new
    change = new - old
    return change if abs(change) > NOISE * max(old, new) else 0.0
