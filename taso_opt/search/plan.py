"""What a search decides: a graph, its predicted cost and the steps that lead to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf

from taso_opt.core.term import Term
from taso_opt.rewrite.finding.step import Step
from taso_opt.search.clock import Clock

WORTH_WAITING = 0.005
"""By which share the best cost must fall for a search to wait as long once more."""


@dataclass(frozen=True)
class Plan:
    """A graph equal to the original one, with the rules applied in order; `cost` is predicted by the oracle."""

    outputs: tuple[Term, ...]
    cost: float
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class SearchLimits:
    """When to stop: seconds and expanded graphs in all, expanded graphs and work since the last improvement.

    Work ends a search only after `least_patience` graphs, so that the largest models get somewhere too. It is counted
    in terms looked at and moves judged, not in seconds: where a search ends must not depend on how busy the machine is.
    Only `budget` is in seconds; what it cuts is reported as cut by it, and remembered as that (see `remembered`).
    """

    budget: float = 40.0
    expansions: int = 2000
    patience: int = 60
    least_patience: int = 8
    patience_work: int = 10_000


@dataclass(frozen=True)
class SearchPoint:
    """Where a search stood at one moment: seconds since its start, graphs seen and expanded, the best cost so far."""

    seconds: float
    explored: int
    expanded: int
    cost: float


@dataclass(frozen=True)
class SearchResult:
    """The cheapest plan for each number of rules, cheapest first, the original graph last, and how the search went.

    `history` has one point for each improvement, the first for the original graph, the last for the end. The
    `runner_up` is the cheapest of the graphs that a search makes in one long stride and that cost no less than the
    original. `doubted` are the graphs whose costs were measured once more when a search had ended; what an earlier run
    has found was `recalled_from` then.
    """

    plans: tuple[Plan, ...]
    explored: int
    expanded: int
    seconds: float
    stopped_by: str
    history: tuple[SearchPoint, ...] = ()
    runner_up: Plan | None = None
    doubted: tuple[tuple[Term, ...], ...] = ()
    recalled_from: str = ""

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    @property
    def leader(self) -> Plan | None:
        """The best plan or, where none gains, the runner-up; None where a search was ended before its end."""
        if self.stopped_by in ("interrupt", "budget"):
            return None
        return self.plans[0] if self.plans[0].steps else self.runner_up

    def priced(self, cost: Callable[[tuple[Term, ...]], float]) -> SearchResult:
        """The same by other costs: what is now no cheaper than the original graph falls out."""
        *plans, original = (replace(plan, cost=cost(plan.outputs)) for plan in self.plans)
        cheaper = sorted((plan for plan in plans if plan.cost < original.cost), key=lambda plan: plan.cost)
        return replace(self, plans=(*cheaper, original))

    def after(self, earlier: SearchResult) -> SearchResult:
        """The same as the end of a longer search that began with an earlier one, priced by the same costs."""
        explored, expanded, seconds = earlier.explored, earlier.expanded, earlier.seconds
        plans = {plan.outputs: plan for plan in (*earlier.plans[:-1], *self.plans[:-1])}
        return replace(
            self,
            plans=(*sorted(plans.values(), key=lambda plan: plan.cost), self.plans[-1]),
            explored=self.explored + explored,
            expanded=self.expanded + expanded,
            seconds=self.seconds + seconds,
            doubted=(*earlier.doubted, *self.doubted),
            history=tuple(
                SearchPoint(one.seconds + seconds, one.explored + explored, one.expanded + expanded, one.cost)
                for one in self.history
            ),
        )


class Shortlist:
    """The best plan, and the cheapest one for each number of different rules.

    Predictions err alike for plans of one kind; a plan of fewer rules stands by in case that one of the others errs.
    """

    def __init__(self, original: Plan) -> None:
        self._original, self.best = original, original
        self._by_rules: dict[int, Plan] = {}

    def add(self, plan: Plan) -> None:
        """Consider a plan."""
        if plan.cost < self.best.cost:
            self.best = plan
        rules = len({step.rule.rule.name for step in plan.steps})
        known = self._by_rules.get(rules)
        if known is None or plan.cost < known.cost:
            self._by_rules[rules] = plan

    def is_cheaper(self, plan: Plan) -> bool:
        """Whether a plan costs less than the original."""
        return plan.cost < self._original.cost

    def plans(self) -> tuple[Plan, ...]:
        """What is cheaper than the original, cheapest first, and the original."""
        cheaper = [plan for plan in self._by_rules.values() if self.is_cheaper(plan)]
        return (*sorted(cheaper, key=lambda plan: plan.cost), self._original)


class History:
    """Collects a point whenever the best cost has changed."""

    def __init__(self) -> None:
        self._points: list[SearchPoint] = []

    def note(self, point: SearchPoint) -> None:
        """Keep the point if its cost is news."""
        if not self._points or point.cost < self._points[-1].cost:
            self._points.append(point)

    def ended(self, point: SearchPoint) -> tuple[SearchPoint, ...]:
        """All points, the last of them for the end."""
        return (*self._points, point)


class Patience:
    """Counts what a search has spent, and says when its limits are reached and which."""

    def __init__(self, limits: SearchLimits, clock: Clock | None = None) -> None:
        """The search begins now, by the `clock`."""
        self._limits, self._clock = limits, clock or Clock()
        self._started = self._clock.seconds
        self._since = self._work = 0
        self._standing = inf
        self.expanded = self.worked = 0
        self.reason = "exhausted"

    @property
    def seconds(self) -> float:
        """How long the search has run."""
        return self._clock.seconds - self._started

    def is_beyond(self, seconds: float) -> bool:
        """Whether the search has run for longer than that."""
        return self._clock.is_past(self._started + seconds)

    def interrupt(self) -> None:
        """Note that the user wants no more than what is found."""
        self.reason = "interrupt"

    def overrun(self) -> None:
        """Note that what was left to do was cut short."""
        self.reason = "budget"

    def spend(self) -> None:
        """Note that a graph is expanded."""
        self.expanded += 1
        self._since += 1

    def work(self, amount: int) -> None:
        """Note how many terms were looked at and how many moves judged."""
        self._work += amount
        self.worked += amount

    def reached(self, cost: float) -> None:
        """Note the best cost so far; where it has fallen by enough, in one step or in several, all is counted anew."""
        if cost < self._standing * (1 - WORTH_WAITING):
            self._standing = cost
            self._since = self._work = 0

    def begin_again(self, patience: int, patience_work: int) -> None:
        """Count from another graph on, with less patience."""
        self._limits = replace(self._limits, patience=patience, least_patience=1, patience_work=patience_work)
        self._since = self._work = 0
        self._standing = inf
        self.reason = "exhausted"

    def exhausted(self) -> bool:
        """Whether a limit is reached; `reason` then names it."""
        if self.is_beyond(self._limits.budget):
            self.reason = "budget"
        elif self.expanded >= self._limits.expansions:
            self.reason = "expansions"
        elif self._since >= self._limits.patience or self._has_worked_enough():
            self.reason = "patience"
        return self.reason != "exhausted"

    def _has_worked_enough(self) -> bool:
        limits = self._limits
        return self._since >= min(limits.least_patience, limits.patience) and self._work >= limits.patience_work
