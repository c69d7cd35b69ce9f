"""Searches the graphs that the rules reach, as often as what is found rests on noise."""

from __future__ import annotations

from dataclasses import replace

from taso_opt.api.finals.costs import Costs
from taso_opt.api.finals.question import search_question
from taso_opt.api.job import Job
from taso_opt.api.session import usable_rules
from taso_opt.core.machine.garbage import rare_garbage_collection
from taso_opt.core.term import Term
from taso_opt.cost import LATENCY, CostModel, CostTable, Measurer
from taso_opt.onnx_io import spellable
from taso_opt.report.quantities import duration
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.clock import Clock
from taso_opt.search.plan import Plan, SearchLimits, SearchResult
from taso_opt.search.remembered import RememberedSearch
from taso_opt.spec import load_specs
from taso_opt.spec.builder import Builder

NOISE_SHARE = 0.01
"""Of the original's cost: by how much a predicted gain may move when the costs behind it are measured again."""

DOUBTFUL = 0.25
"""Of the gain itself: where less of it was noise, the plans are only priced anew, and not searched for once more."""


def search(job: Job) -> tuple[SearchResult, Costs]:
    """Search the graphs that the rules reach, with costs measured on the job's device; the costs come back too."""
    model, bound = job.model, load_specs().builder(job.model.bindings)
    rules = usable_rules(job.settings.rules, job.settings.fp_class)

    def measuring(count: int) -> None:
        kernels = "1 kernel" if count == 1 else f"{count} kernels"
        job.tell(f"measuring {kernels} whose cost is not known yet")

    job.tell("looking up what the model's kernels cost")
    with CostTable() as table:
        measurer = Measurer.of_model(job.process, job.run, job.info, model, bound)
        latency = CostModel.of_model(model, bound, table, measurer, measuring)
        memory = RememberedSearch(table, latency.place, search_question(job, rules.rules))
        latency.settle(model.graph.outputs)
        found = memory.recall(model.graph.outputs, rules)
        if found is None:
            with rare_garbage_collection():
                found = _searched(job, rules, latency, bound)
            if found.stopped_by != "interrupt":
                memory.remember(found)
        else:
            job.tell(f"going by what a search at {found.recalled_from} found")
            for doubted in found.doubted:
                latency.measure_again(model.graph.outputs, doubted)
        costs = Costs.of(job.goal, latency, bound, model.graph.outputs)
        predicted = latency.cost(model.graph.outputs) + job.saved_s, latency.cost(found.plans[0].outputs)
    if found.stopped_by == "interrupt":
        job.tell("interrupted: checking the best plan found so far; a second interrupt gives up")
    return found, replace(costs, predicted=predicted)


def _searched(job: Job, rules: CompiledRules, latency: CostModel, bound: Builder) -> SearchResult:
    """What a search finds, and anew where that rests on noise; its plans are priced by the costs as they are then."""
    model, outputs = job.model, job.model.graph.outputs
    rewriter, clock = Rewriter.of_model(model, rules), Clock()

    def report(best: Plan, expanded: int) -> None:
        left = max(0.0, job.budget - clock.seconds)
        graphs = "1 graph" if expanded == 1 else f"{expanded} graphs"
        predicted = duration(best.cost * 1e3) if costs.trade is None else f"{best.cost:.3f} by {job.goal}"
        job.tell(f"searching: {graphs} expanded, best predicted {predicted}, {left:.0f} s left")

    found = None
    try:
        while True:
            costs = Costs.of(job.goal, latency, bound, outputs)
            limits = SearchLimits(budget=max(0.0, job.budget - clock.seconds))
            space = model.builder, rewriter, costs.oracle, spellable(model, without=job.without)
            result = BacktrackingSearch(*space, job.settings.alpha, limits, clock).run(outputs, report)
            found = result if found is None else result.after(found.priced(costs.oracle.cost))
            leader = found.leader
            if leader is None or clock.is_past(job.budget) or not job.goal.weight(LATENCY):
                break
            found = replace(found, doubted=(*found.doubted, leader.outputs))
            if not _rests_on_noise(found, leader, outputs, latency) or clock.is_past(job.budget):
                break
    except KeyboardInterrupt:
        if found is None or not found.plans[0].steps:
            raise
        found = replace(found, stopped_by="interrupt")
    return found.priced(Costs.of(job.goal, latency, bound, outputs).oracle.cost)


def _rests_on_noise(found: SearchResult, leader: Plan, outputs: tuple[Term, ...], latency: CostModel) -> bool:
    """Whether the leader of a search looks otherwise when its costs are measured again.

    Much of the best plan's gain may go; or, where none gains, the runner-up may come to gain.
    """
    moved, cost = latency.measure_again(outputs, leader.outputs), latency.cost(outputs)
    gain = cost - latency.cost(leader.outputs)
    return moved > max(NOISE_SHARE * cost, DOUBTFUL * gain) and (gain > 0 or leader is not found.runner_up)
