"""The costs of one optimization: what the search is steered by, and what its plans must achieve in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taso_opt.api.finals.contest import rewritten
from taso_opt.api.job import Job
from taso_opt.core.term import Term
from taso_opt.cost import BROKEN, LATENCY, CostModel, Goal, TradeCost, Unit
from taso_opt.cost.quantities import weight_bytes as graph_weight_bytes
from taso_opt.onnx_io import bytes_added, folded_terms, weight_bytes
from taso_opt.report.record import ObjectivePart
from taso_opt.search.judging.finals import Standard
from taso_opt.search.oracle import CostOracle
from taso_opt.search.plan import Plan, SearchResult
from taso_opt.spec.builder import Builder

FINALISTS, MOST_FINALISTS, LIGHT_BYTES = 3, 8, 64 << 20
"""How many plans are measured whole, the cheapest for different numbers of rules: predictions rank them only roughly.

A model with fewer bytes of weights than LIGHT_BYTES is loaded and run in no time, and more of them get their chance.
"""

MOST_ADDED = 64 << 20
"""Bytes that folding may add to a file unasked; where the weights are more, it may grow by as much as they are."""

LEAST_PREDICTED_GAIN = 0.01
"""A plan that promises less latency is not worth measuring: neither prediction nor measurement is that exact."""

SAME_COST = 0.001
"""Plans whose costs differ by a smaller share differ by nothing that a measurement would show."""

LEAST_COUNTED_GAIN = 0.001
"""What is counted is exact, but for less of it nobody wants another file."""

NOTHING_FOUND = "no rewriting is predicted to be faster by more than 1%"
NOTHING_BETTER = "no rewriting within the limits is better by the objective"
NOT_AHEAD = "the best rewriting is not ahead of the original by more than the noise"
NOT_BETTER = "the best rewriting is not better by the objective, or slower than the original (see --allow-slower)"


@dataclass(frozen=True)
class Costs:
    """The measured latencies and, for every goal but plain latency, the trade between quantities that steers instead.

    `predicted` is the latency in seconds, as predicted, of the original and of the best graph that was found.
    """

    latency: CostModel
    trade: TradeCost | None
    predicted: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, goal: Goal, latency: CostModel, builder: Builder, original: Sequence[Term]) -> Costs:
        """The costs by a goal; what the original takes of it is known from here on."""
        return cls(latency, None if goal.is_plain_latency else TradeCost(goal, latency, builder, original))

    @property
    def oracle(self) -> CostOracle[Unit]:
        """What the search asks."""
        return self.trade or self.latency

    @property
    def nothing_found(self) -> str:
        """Why there is nothing to measure, in a sentence."""
        return NOTHING_FOUND if self.trade is None else NOTHING_BETTER

    @property
    def not_ahead(self) -> str:
        """Why nothing that was measured is written, in a sentence."""
        return NOT_AHEAD if self.trade is None else NOT_BETTER

    def standard(self, plans: Sequence[Plan]) -> Standard:
        """What the plans' models must achieve; an original outside the limits loses to any plan that is within them."""
        trade = self.trade
        if trade is None:
            return Standard()
        rest = tuple(trade.weighted(trade.quantities(plan.outputs), without=LATENCY) for plan in plans)
        total = sum(weight for _, weight in trade.goal.weights)
        outside = 0.0 if trade.is_allowed(trade.before) else BROKEN * total
        before = trade.weighted(trade.before, without=LATENCY) + outside
        return Standard(trade.goal.weight(LATENCY), rest, before, trade.goal.allow_slower)

    def folded_bytes(self, plan: Plan) -> int:
        """How many bytes of weights a plan's model has when all that depends on constants alone is computed."""
        finder = self.latency.finder
        return int(graph_weight_bytes(plan.outputs, finder.builder, finder.is_constant))

    def parts(self, plan: Plan) -> tuple[ObjectivePart, ...]:
        """What the plan changes of each quantity that counts or is limited; latency is measured instead."""
        if self.trade is None:
            return ()
        before, after = self.trade.before, self.trade.quantities(plan.outputs)
        names = [name for name in before if name != LATENCY]
        return tuple(ObjectivePart(name, self.trade.goal.weight(name), before[name], after[name]) for name in names)


def finalists(job: Job, found: SearchResult, costs: Costs) -> list[Plan]:
    """The plans that promise enough to be measured whole, as many as the model is light; of those alike the first.

    Where the model was cleaned up or rewritten before the search, that is measured too, as the plan without steps.
    """
    least = LEAST_PREDICTED_GAIN if job.goal.only == LATENCY else LEAST_COUNTED_GAIN
    worthwhile = (1 - least) * found.plans[-1].cost
    most = MOST_FINALISTS if weight_bytes(job.model) < LIGHT_BYTES else FINALISTS
    chosen: dict[tuple[Term, ...], Plan] = {}
    for plan in found:
        is_new = all(plan.cost > (1 + SAME_COST) * other.cost for other in chosen.values())
        if plan.cost < worthwhile and is_new and len(chosen) < most and _is_allowed(job, plan, costs):
            chosen[plan.outputs] = plan
    base = found.plans[-1]
    return [*chosen.values(), *([base] if job.has_another_base and _is_allowed(job, base, costs) else [])]


def _is_allowed(job: Job, plan: Plan, costs: Costs) -> bool:
    """Whether a plan keeps to the limits, in its graph and, for the bytes of weights, in the file that it makes."""
    if job.goal.size_growth is None and not _keeps_its_size(job, plan, costs):
        return False
    if costs.trade is None:
        return True
    if not costs.trade.is_allowed(costs.trade.quantities(plan.outputs)):
        return False
    growth = job.goal.size_growth
    added = 0 if growth is None else bytes_added(job.source.proto, rewritten(job.model, plan))
    return added <= (growth or 0.0) * weight_bytes(job.model)


def _keeps_its_size(job: Job, plan: Plan, costs: Costs) -> bool:
    """Whether the constants that a plan folds add no more than may be added unasked; nothing is folded to tell."""
    builder, original = costs.latency.finder.builder, job.model.graph.outputs
    folded = [folded_terms(builder, outputs, job.model.opset) for outputs in (original, plan.outputs)]
    before, after = (
        graph_weight_bytes(outputs, builder, terms.__contains__)
        for outputs, terms in zip((original, plan.outputs), folded, strict=True)
    )
    return after - before <= max(MOST_ADDED, weight_bytes(job.model))
