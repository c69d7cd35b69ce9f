"""What sequences of rules came to where they were tried: where that was nothing so far, they are not tried further on.

A graph has hundreds of places that look different, as layers of different sizes do, and thousands of sequences begin at
them that are the same but for the sizes. Nearly all gain nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from taso_opt.core.term import Term
from taso_opt.rewrite.finding.step import Step

ENOUGH = 8
"""Places at which a sequence has to gain nothing for it to be hopeless."""

FIRST_ROUND = 16
"""Places of the first round; each further one has as many as all before it."""

P = TypeVar("P")
Rules = tuple[int, ...]


class Trials:
    """Counts at how many places a sequence of rules was tried, and whether it led to a gain anywhere.

    A sequence is tried where it or a longer one that begins with it is. What a graph shows counts for those that a
    search makes of it, too.
    """

    def __init__(self) -> None:
        self._places: set[tuple[Term, Rules]] = set()
        self._tried: Counter[Rules] = Counter()
        self._gained: set[Rules] = set()

    def note(self, tried: Iterable[Sequence[Step]], gained: Iterable[Sequence[Step]]) -> None:
        """Note which sequences were tried, each at the place where it begins, and which of them gained."""
        at_places = {(steps[0].root, rules) for steps in tried for rules in _beginnings(steps)}
        self._tried.update(rules for _, rules in at_places - self._places)
        self._places |= at_places
        self._gained.update(rules for steps in gained for rules in _beginnings(steps))

    def is_hopeless(self, rules: Rules) -> bool:
        """Whether these rules, one after the other, have been tried at enough places and never led to a gain."""
        return self._tried[rules] >= ENOUGH and rules not in self._gained


def rounds(places: Sequence[P]) -> Iterator[list[P]]:
    """Some places in rounds, each spread over all of them: at first a few, and each time as many more."""
    bits = max(len(places) - 1, 0).bit_length()
    spread = sorted(range(len(places)), key=lambda place: f"{place:0{bits}b}"[::-1])
    done, size = 0, FIRST_ROUND
    while done < len(places):
        yield [places[place] for place in sorted(spread[done : done + size])]
        done += size
        size = done


def _beginnings(steps: Sequence[Step]) -> Iterator[Rules]:
    return accumulate((id(step.rule),) for step in steps)
