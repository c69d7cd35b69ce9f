"""Cost-based backtracking search over the graphs that the rules reach (Algorithm 2 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from taso_opt.core.term import Term, postorder
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.clock import Clock
from taso_opt.search.moves import (
    Move,
    chaining_move,
    free_moves,
    lengths,
    moves_from,
    narrow_losses,
    picturing_move,
    rising_move,
    simpler_moves,
    widening_moves,
)
from taso_opt.search.neighbourhood import Expired, Neighbourhood, live_operators
from taso_opt.search.oracle import CostOracle
from taso_opt.search.plan import History, Patience, Plan, SearchLimits, SearchPoint, SearchResult, Shortlist
from taso_opt.search.prices import Prices
from taso_opt.search.queue import Queue, Waiting, rank
from taso_opt.search.trials import Trials
from taso_opt.spec.builder import Builder

MEANINGFUL_GAIN = 0.002
"""Changes of a smaller share are below what measurements tell apart."""

BEARABLE = 0.04
"""By which share one rule, applied everywhere at once, may make a graph worse to be looked at for what it opens."""

MOST_BUILT, FEWEST_BUILT, BUILT_OPERATORS = 16, 4, 8000
"""At most and at least how many of the joint moves from the start are built at once, those that promise most, and how
many operators the graphs may have together."""

DESCENT_PATIENCE, DESCENT_WORK, DESCENTS_WORK = 4, 5000, 4000
"""After how many graphs, or how much work as patience counts it, without anything better a descent ends from such a
graph that the search has left behind; and after how much work the last of them begins. No network of the benchmark
gains by one that begins later."""

NARROW, MOST_PASSED, MOST_PASSED_OVER = 0.1, 2, 500
"""By which share of it what one rule does everywhere may make the best graph worse to be descended from, how many such
graphs are, and how many operators the best graph may have, since the search of a larger one takes a fifth longer by it
and nothing comes of that; and by which share a plan may be behind to be said by pixels."""

MOST_DESCENDED = 1000
"""Operators of a graph that is descended from: expanding a larger one is most of the work that a descent has, and
hardly anything that it promises would be built."""

MOST_SETTLING = 8
"""Of how many moves the start of a search consists that cost nothing."""

MOST_CHAINED = 32
"""Of how many recurrences, as those of layers, cells become one operator before a search begins."""

MOST_WIDENING = 8
"""Of how many moves the end of a search consists that fill blocks of channels."""

LEAST_EXPANSION_S = 5.0
"""A graph that is expanded gets so many seconds, even beyond the budget: half of its moves are not worth much."""

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
        cost: CostOracle[Any],
        admissible: Callable[[Term], bool],
        alpha: float,
        limits: SearchLimits,
        clock: Clock | None = None,
    ) -> None:
        self._builder, self._rewriter, self._cost = builder, rewriter, cost
        self._admissible, self._alpha, self._limits = admissible, alpha, limits
        self._clock = clock or Clock()
        self._queue = Queue()
        self._seen: set[tuple[Term, ...]] = set()
        self._expanded: set[tuple[Term, ...]] = set()
        self._first_steps: list[Plan] = []
        self._strides: list[Plan] = []
        self._known: dict[tuple[Term, ...], Neighbourhood] = {}
        self._prices, self._trials = Prices(cost), Trials()

    def run(self, outputs: tuple[Term, ...], progress: Progress | None = None) -> SearchResult:
        """Search from a graph; `progress` hears of every expanded graph.

        An interrupt (Ctrl-C) ends the search like a limit does once something better than the original is found;
        before that it is raised.
        """
        patience, history = Patience(self._limits, self._clock), History()
        original = Plan(outputs, self._cost.cost(outputs))
        kept = Shortlist(original)
        history.note(SearchPoint(patience.seconds, 0, 0, original.cost))

        def heard(best: Plan, expanded: int) -> None:
            history.note(SearchPoint(patience.seconds, len(self._seen), expanded, best.cost))
            if progress is not None:
                progress(best, expanded)

        try:
            expired = partial(patience.is_beyond, self._limits.budget)
            settled = self._settled(original, expired)
            start = self._raised(settled, expired)
            chained = self._chained(settled, original, expired)
            for plan in dict.fromkeys((start, settled, original, chained)):
                self._push(plan)
            self._explore(start, patience, kept, heard)
            self._descend(patience, kept, heard)
            self._pass_over(patience, kept, heard)
            self._picture(kept, expired)
            self._widen(kept, expired)
            if expired():
                patience.overrun()
        except KeyboardInterrupt:
            if kept.best is original:
                raise
            patience.interrupt()
        end = SearchPoint(patience.seconds, len(self._seen), patience.expanded, kept.best.cost)
        points = history.ended(end)
        losing = (plan for plan in (*self._strides, *self._first_steps) if plan.cost >= original.cost)
        runner_up = min(losing, key=lambda plan: plan.cost, default=None)
        return SearchResult(kept.plans(), end.explored, end.expanded, end.seconds, patience.reason, points, runner_up)

    def _settled(self, original: Plan, expired: Expired) -> Plan:
        """The graph with all that costs nothing and leaves fewer operators done everywhere, as the runtime does it too.

        Products and convolutions keep their sizes. Batch normalizations behind convolutions are folded into filters so,
        which are then like any other filters.
        """
        prices = self._prices
        free = partial(
            free_moves, rewriter=self._rewriter, price=prices.of, keeps_work=prices.keeps_work, expired=expired
        )
        return self._with_fewer(original, free, expired)

    def _with_fewer(self, plan: Plan, moves_from: Callable[[Neighbourhood], list[Move]], expired: Expired) -> Plan:
        """What becomes of a graph by the move that saves most, over and over, as long as that costs nothing."""
        for _ in range(MOST_SETTLING):
            best = max(moves_from(self._neighbourhood(plan)), key=lambda move: move.saved, default=None)
            settled = None if best is None else self._built(plan, best)
            if settled is None or settled.cost > plan.cost * (1 + MEANINGFUL_GAIN) or expired():
                break
            plan = settled
        return plan

    def _raised(self, plan: Plan, expired: Expired) -> Plan:
        """The graph with lines computed as images of one row, unless that loses by far: no line gains raised alone.

        It may gain little by itself, and much by what its convolutions can be merged and padded to then.
        """
        move = None if expired() else rising_move(self._neighbourhood(plan), self._rewriter, self._prices.of)
        raised = None if move is None else self._built(plan, move)
        if raised is None:
            return plan
        self._strides.append(raised)
        return plan if self._is_ruled_out(raised.cost, plan) else raised

    def _laid_open(self, settled: Plan, original: Plan, expired: Expired) -> Iterator[Plan]:
        """The graphs in which cells may be seen, each once, the last one made where they are not seen in the others."""
        yield settled
        if original is not settled:
            yield original
        simpler = partial(simpler_moves, rewriter=self._rewriter, price=self._prices.of, expired=expired)
        simplified = self._with_fewer(settled, simpler, expired)
        if simplified is not settled:
            yield simplified

    def _chained(self, settled: Plan, original: Plan, expired: Expired) -> Plan:
        """A graph with the cells of each recurrence as one operator over all elements, as far as that gains.

        Of the first graph in which some are found: where all that costs nothing is done, cells may be cells no more,
        and what is spelled in more operators than it needs may hide them.
        """
        for plan in self._laid_open(settled, original, expired):
            best = plan
            for _ in range(MOST_CHAINED):
                move = chaining_move(self._neighbourhood(best), self._rewriter, self._prices.of, expired)
                chained = None if move is None else self._built(best, move)
                if chained is None:
                    break
                self._strides.append(chained)
                if chained.cost >= best.cost:
                    break
                best = chained
            if best is not plan:
                return best
        return settled

    def _widen(self, kept: Shortlist, expired: Expired) -> None:
        """Fill blocks of channels in the best graph, as long as that gains.

        This comes last: channels that were added cannot be told from others, and what merges convolutions later on
        would have all of them. Of 32 branches with 8 channels each, padded to 16, half of the result would be zeros.
        """
        for _ in range(MOST_WIDENING):
            if expired():
                break
            here = self._neighbourhood(kept.best)
            moves = widening_moves(here, self._rewriter, self._prices.of)
            best = min(moves, key=lambda move: move.change, default=None)
            widened = None if best is None else self._built(kept.best, best)
            if widened is None or widened.cost >= kept.best.cost:
                break
            kept.add(widened)

    def _picture(self, kept: Shortlist, expired: Expired) -> None:
        """Keep what was found with its rows computed as pixels, too, where that seems to lose little.

        Products and convolutions are computed by different code, which gains differently by what lies in the caches:
        predictions of the two err apart, and where they are close, a measurement decides. What joins products of the
        same rows ends in parts of rows, at which pixels end; so plans that are a little behind are looked at, too.
        """
        dearest = kept.best.cost * (1 + NARROW)
        for plan in kept.plans():
            if expired() or plan.cost > dearest or self._operators(plan.outputs) > MOST_DESCENDED:
                break
            bearable = plan.cost * BEARABLE
            move = picturing_move(self._neighbourhood(plan), self._rewriter, self._prices.of, bearable)
            pictured = None if move is None else self._built(plan, move)
            if pictured is not None and pictured.cost <= kept.best.cost * (1 + BEARABLE):
                kept.add(pictured)

    def _descend(self, patience: Patience, kept: Shortlist, heard: Progress) -> None:
        """Descend from where single joint moves lead, if the search has left that behind for what gains more at once.

        Where gains stand in each other's way, the smaller one may lead farther: gates that are joined before the inputs
        of all time steps are stacked leave no parts of parts.
        """
        steps = {plan.outputs: plan for plan in self._first_steps if plan.outputs not in self._expanded}
        small = (plan for plan in steps.values() if self._operators(plan.outputs) <= MOST_DESCENDED)
        self._descend_from(sorted(filter(kept.is_cheaper, small), key=self._rank), patience, kept, heard)

    def _pass_over(self, patience: Patience, kept: Shortlist, heard: Progress) -> None:
        """Descend from what one rule makes of the best graph at a narrow loss, which gains may wait behind.

        Kernels that are measured at different times differ by some percent: a joined product may look dearer than its
        parts are together, and with what follows it joined, too, be cheaper all the same.
        """
        best, expired = kept.best, partial(patience.is_beyond, self._limits.budget)
        if self._operators(best.outputs) > MOST_PASSED_OVER or expired():
            return
        moves = narrow_losses(self._neighbourhood(best), self._rewriter, self._prices.of, NARROW * best.cost, expired)
        losing = [move for move in moves if move.change > BEARABLE * best.cost][:MOST_PASSED]
        plans = [plan for plan in (self._built(best, move) for move in losing) if plan is not None]
        self._descend_from([plan for plan in plans if plan.outputs not in self._expanded], patience, kept, heard)

    def _descend_from(self, plans: Sequence[Plan], patience: Patience, kept: Shortlist, heard: Progress) -> None:
        """Search on from each of some graphs for itself, as long as there is work left for that."""
        reason, end = patience.reason, patience.worked + DESCENTS_WORK
        for plan in plans:
            if patience.worked >= end:
                break
            own = Shortlist(plan)
            self._queue.clear()
            self._push(plan)
            patience.begin_again(DESCENT_PATIENCE, DESCENT_WORK)
            self._explore(None, patience, own, lambda _, expanded: heard(kept.best, expanded))
            for found in own.plans():
                kept.add(found)
        if patience.reason != "budget":
            patience.reason = reason

    def _explore(self, start: Plan | None, patience: Patience, kept: Shortlist, heard: Progress) -> None:
        while self._queue and not patience.exhausted():
            taken = self._queue.pop()
            if taken.move is not None and self._is_ruled_out(taken.cost, kept.best):
                continue
            # 1. Build the graph that the move leads to, unless it was seen; cost it exactly.
            plan = self._take(taken)
            if plan is None:
                continue
            detour = 0.0 if plan.cost < taken.plan.cost * (1 - MEANINGFUL_GAIN) else taken.detour
            # 2. Keep it when it is the best so far, of all or of its kind; drop it when alpha rules it out.
            kept.add(plan)
            patience.reached(kept.best.cost)
            if plan.steps and self._is_ruled_out(plan.cost, kept.best):
                continue
            # 3. Queue every move from it under the cost it promises.
            patience.spend()
            self._expanded.add(plan.outputs)
            self._queue.note(plan.cost)
            heard(kept.best, patience.expanded)
            end = max(self._limits.budget, patience.seconds + LEAST_EXPANSION_S)
            patience.work(self._expand(plan, detour, start, kept, partial(patience.is_beyond, end)))

    def _neighbourhood(self, plan: Plan) -> Neighbourhood:
        """The neighbourhood of a graph, kept until the graph is expanded: a search looks at its start several times."""
        known = self._known.get(plan.outputs)
        if known is None:
            groups, layouts = self._cost.execution(plan.outputs)
            known = Neighbourhood(plan.outputs, groups, self._builder.rebuild, layouts, self._rewriter.is_constant)
            self._known[plan.outputs] = known
        return known

    def _expand(self, plan: Plan, detour: float, start: Plan | None, kept: Shortlist, expired: Expired) -> int:
        """Queue the moves from a graph, `detour` steps behind the last better one; how much work that was.

        Sequences, which take long to find, begin at the start and at what is better; without a start there are none.
        """
        here, is_start = self._neighbourhood(plan), plan is start
        operators = self._operators(plan.outputs)
        if plan is not kept.best or operators > MOST_DESCENDED:
            del self._known[plan.outputs]  # only the best graph is looked at once more
        trials = self._trials if is_start or (start is not None and plan is kept.best) else None
        bearable = BEARABLE * plan.cost
        single, joint = moves_from(here, self._rewriter, self._prices.of, trials, bearable, expired)
        if is_start:
            # Where joint moves lead at once is kept even if alpha will rule it out in favour of what gains more.
            gains = [move for move in joint if move.change < -MEANINGFUL_GAIN * plan.cost]
            most = min(MOST_BUILT, max(FEWEST_BUILT, BUILT_OPERATORS // max(operators, 1)))
            for move in sorted(gains, key=lambda move: move.change)[:most]:
                simple = self._built(plan, move)
                if simple is not None:
                    kept.add(simple)
                    self._first_steps.append(simple)
                    self._push(simple)
        for move, length, pardoned in lengths(joint, single, MEANINGFUL_GAIN * plan.cost):
            if not self._is_ruled_out(plan.cost + move.change, kept.best):
                promised = plan.cost + move.change, operators - move.saved
                self._queue.push(Waiting(plan, move, *promised, detour + length, pardoned))
        return here.size + len(single) + len(joint)

    def _is_ruled_out(self, cost: float, best: Plan) -> bool:
        return cost >= self._alpha * best.cost

    def _operators(self, outputs: Iterable[Term]) -> int:
        """How many operators are computed when a model runs."""
        return live_operators(postorder(outputs), self._rewriter.is_constant)

    def _rank(self, plan: Plan) -> float:
        return rank(plan.cost, self._operators(plan.outputs))

    def _push(self, plan: Plan) -> None:
        self._queue.push(Waiting(plan, None, plan.cost, self._operators(plan.outputs)))

    def _take(self, taken: Waiting) -> Plan | None:
        """The graph that is to be looked at; None where it is seen already or cannot be built."""
        plan, move = taken.plan, taken.move
        if move is None:
            self._seen.add(plan.outputs)
            return None if plan.outputs in self._expanded else plan
        built = self._built(plan, move)
        if built is None or built.outputs in self._seen:
            return None
        self._seen.add(built.outputs)
        return built

    def _built(self, parent: Plan, move: Move) -> Plan | None:
        """The graph that a move leads to, None when it is cyclic or cannot be written."""
        if not all(self._admissible(new) for _, new in move.replacements):
            return None
        outputs = substitute_terms(self._builder, parent.outputs, dict(move.replacements))
        if outputs is None:
            return None
        cost = self._cost.cost(outputs)
        # What the noise of costs gave a move that promises nothing must not be credited to it.
        if move.change >= 0 and self._cost.adds_up:
            cost = max(cost, parent.cost)
        return Plan(outputs, cost, (*parent.steps, *move.steps))
