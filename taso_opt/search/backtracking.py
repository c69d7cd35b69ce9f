"""Cost-based backtracking search over the graphs that the rules reach (Algorithm 2 of the paper)."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Hashable, Sequence
from itertools import count

from taso_opt.core.term import Term
from taso_opt.rewrite.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.neighbourhood import LocalChange, Move, Neighbourhood, moves_from
from taso_opt.search.plan import Plan, SearchLimits, SearchResult
from taso_opt.search.pricing import CostOracle
from taso_opt.spec.builder import Builder

KEPT_PLANS = 4

Progress = Callable[[Plan, int], None]


class BacktrackingSearch:
    """Best-first search with deferred evaluation: a move waits in the queue under the cost it promises locally.

    A graph is built and costed exactly only when its move is the most promising one left. `alpha` bounds how much
    worse than the best graph found a graph may be and still be explored.
    """

    def __init__(
        self,
        builder: Builder,
        rewriter: Rewriter,
        cost: CostOracle,
        admissible: Callable[[Term], bool],
        alpha: float,
        limits: SearchLimits,
    ) -> None:
        self._builder, self._rewriter, self._cost = builder, rewriter, cost
        self._admissible, self._alpha, self._limits = admissible, alpha, limits
        self._queue: list[tuple[float, int, Plan, Move | None]] = []
        self._order = count()
        self._seen: set[tuple[Term, ...]] = set()

    def run(self, outputs: tuple[Term, ...], fixed_cost: float = 0.0, progress: Progress | None = None) -> SearchResult:
        """Search from a graph; `fixed_cost` is what every plan pays for parts that no rule can touch."""
        started = time.monotonic()
        original = Plan(outputs, self._cost.cost(outputs) + fixed_cost)
        best, expanded, since_best = [original], 0, 0
        self._push(original.cost, original, None)
        stopped_by = "exhausted"
        while self._queue:
            stopped_by = self._stop_reason(started, expanded, since_best)
            if stopped_by:
                break
            predicted, _, parent, move = heapq.heappop(self._queue)
            if predicted >= self._alpha * best[0].cost and move is not None:
                continue
            # 1. Build the graph that the move leads to, unless it was seen; cost it exactly.
            plan = self._take(parent, move, fixed_cost)
            if plan is None:
                continue
            # 2. Keep it when it is among the best; drop it when alpha rules it out.
            if plan.cost < best[0].cost:
                since_best = 0
            best = sorted([*best, plan], key=lambda kept: kept.cost)[:KEPT_PLANS] if move is not None else best
            if plan.cost >= self._alpha * best[0].cost and move is not None:
                continue
            # 3. Queue every move from it under the cost it promises.
            expanded, since_best = expanded + 1, since_best + 1
            if progress is not None:
                progress(best[0], expanded)
            for following in moves_from(Neighbourhood(plan.outputs), self._rewriter, self._price):
                if plan.cost + following.change < self._alpha * best[0].cost:
                    self._push(plan.cost + following.change, plan, following)
        plans = tuple(plan for plan in best if plan is not original and plan.cost < original.cost)
        elapsed = time.monotonic() - started
        return SearchResult((*plans, original), len(self._seen), expanded, elapsed, stopped_by or "exhausted")

    def _push(self, predicted: float, plan: Plan, move: Move | None) -> None:
        heapq.heappush(self._queue, (predicted, next(self._order), plan, move))

    def _stop_reason(self, started: float, expanded: int, since_best: int) -> str:
        if time.monotonic() - started > self._limits.budget:
            return "budget"
        if expanded >= self._limits.expansions:
            return "expansions"
        return "patience" if since_best >= self._limits.patience else ""

    def _take(self, parent: Plan, move: Move | None, fixed_cost: float) -> Plan | None:
        if move is None:
            self._seen.add(parent.outputs)
            return parent
        if not all(self._admissible(new) for _, new in move.replacements):
            return None
        outputs = substitute_terms(self._builder, parent.outputs, dict(move.replacements))
        if outputs is None or outputs in self._seen:
            return None
        self._seen.add(outputs)
        return Plan(outputs, self._cost.cost(outputs) + fixed_cost, (*parent.steps, *move.steps))

    def _price(self, changes: Sequence[LocalChange]) -> list[float]:
        """The change of cost of each local change; everything not yet measured is measured in one batch."""
        removed = [self._cost.units(change.removed, change.kept) for change in changes]
        added = [self._cost.units(change.added, change.kept) for change in changes]
        self._cost.prepare(unit for units in (*removed, *added) for unit in units)
        return [self._sum(new) - self._sum(old) for old, new in zip(removed, added, strict=True)]

    def _sum(self, units: Sequence[Hashable]) -> float:
        return sum(self._cost.known(unit) or 0.0 for unit in units)
