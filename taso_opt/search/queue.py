"""What a search has before it, the most promising first."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from itertools import count
from math import sqrt

from taso_opt.search.moves import Move
from taso_opt.search.plan import Plan

DETOUR = 0.02
"""By which share of its cost a graph stands further behind for each step that led to nothing better.

Steps that change nothing, as an activation before or behind a reshape, can be taken in any number and order; a step
that costs a little and opens the way to much must not wait for all of these.
"""

FEWER = 0.1
"""The power of the number of operators with which a graph's place in the queue grows: where costs are close, the graph
with fewer operators has more gains before it, and the runtime's overhead behind it."""

CROWD = 0.25
"""How many steps away a graph counts as for the square root of how many graphs of its cost were looked at.

From 0.25 to 1 nearly all networks find the same, and several of them more than without.
"""

DIGITS = 6
"""To how many digits graphs cost the same that are spelled in different ways."""


@dataclass(frozen=True)
class Waiting:
    """A move from a graph, or the graph itself, with the cost and the operators that it promises.

    `detour` says how many steps it is behind the last better graph, `pardoned` which loss it need not wait for.
    """

    plan: Plan
    move: Move | None
    cost: float
    operators: int
    detour: float = 0.0
    pardoned: float = 0.0


class Queue:
    """The graphs that a search may look at next, in the order of what they cost and of what they are worth a look.

    Where operators can be spelled in many ways at no cost, as a bias within a convolution or behind it, there are more
    graphs of one cost than a search can look at, and hardly any shows what the others do not. So each that was looked
    at lets all others of its cost wait longer.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Waiting]] = []
        self._order = count()
        self._looked_at: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def push(self, waiting: Waiting) -> None:
        """Let something wait for its turn."""
        heapq.heappush(self._waiting, (self._place(waiting), next(self._order), waiting))

    def pop(self) -> Waiting:
        """What is to be looked at next; the queue must not be empty."""
        while True:
            place, _, waiting = heapq.heappop(self._waiting)
            now = self._place(waiting)
            if now <= place or not self._waiting or now <= self._waiting[0][0]:
                return waiting
            self.push(waiting)

    def note(self, cost: float) -> None:
        """Note that a graph of that cost was looked at."""
        self._looked_at[_same(cost)] += 1

    def _place(self, waiting: Waiting) -> float:
        steps = waiting.detour + CROWD * sqrt(self._looked_at[_same(waiting.cost)])
        return rank(waiting.cost - waiting.pardoned, waiting.operators) * (1 + DETOUR * steps)


def rank(cost: float, operators: int) -> float:
    """By what graphs come one after the other that are no detours."""
    return float(cost * operators**FEWER)


def _same(cost: float) -> str:
    return f"{cost:.{DIGITS}g}"
