"""Fills the parts of a record from what the measurement and the search return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from taso_opt.api.finals.contest import CheckedOutput, Contest
from taso_opt.api.finals.costs import Costs
from taso_opt.core.rule import Certificate, Rule
from taso_opt.report.evidence import OutputError, SearchPoint
from taso_opt.report.record import AppliedRule, MeasuredLatency, MeasuredSpeedup, Record, SearchSummary
from taso_opt.runtime import Contestant, Latency, LatencyComparison
from taso_opt.search.judging.agreement import Agreement
from taso_opt.search.plan import SearchResult
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import format_rule
from taso_opt.verify.explain import preconditions, statements

WON_BEFORE = "it won at {}, and the measurement of now alone does not tell"


def measured_latency(comparison: LatencyComparison, latency: Latency) -> MeasuredLatency:
    """One model's latency, on the clock that decides and on both."""
    timing = comparison.timing(latency)
    return MeasuredLatency(timing.median_ms, timing.spread_ms, latency.cpu.median_ms, latency.wall.median_ms)


def measured_speedup(comparison: LatencyComparison, contestant: Contestant) -> MeasuredSpeedup:
    """A contestant's speed-up, corrected by the control, with its interval and the control beside it."""
    found, control = comparison.speedup(contestant), comparison.ratio(comparison.control)
    return MeasuredSpeedup(
        ratio=found.value,
        low=found.low,
        high=found.high,
        control=control.value,
        control_low=control.low,
        control_high=control.high,
        wall_ratio=contestant.wall_ratio.value,
    )


def with_measurement(record: Record, contest: Contest, outputs: Sequence[CheckedOutput]) -> Record:
    """The record with what the finals measured."""
    finals = contest.finals
    assert finals is not None, "finals that were held"
    dropped = tuple(f"a candidate was dropped: {reason}" for reason in finals.dropped)
    if finals.finalist is None:
        return replace(record, warnings=(*record.warnings, *dropped))
    finalist, latency = finals.finalist, finals.finalist.latency
    by_time = not any(part.weight for part in record.objective)
    reason = record.reason
    if by_time and contest.recalled is not None and not latency.is_ahead(finalist.contestant):
        reason = WON_BEFORE.format(contest.recalled.decided_at)
    return replace(
        record,
        reason=reason,
        clock=latency.clock,
        latency_before=measured_latency(latency, latency.original),
        latency_after=measured_latency(latency, finalist.contestant.latency),
        speedup=measured_speedup(latency, finalist.contestant),
        max_abs_error=finalist.agreement.max_abs,
        max_rel_error=finalist.agreement.max_rel,
        warnings=(*record.warnings, *finalist.agreement.warnings, *dropped),
        outputs=output_errors(finalist.agreement, outputs),
    )


def output_errors(agreement: Agreement, outputs: Sequence[CheckedOutput]) -> tuple[OutputError, ...]:
    """The largest errors of each output over all inputs that were tried.

    Outputs that are compared as any number of tensors are one with those between them, which cannot be told apart.
    """
    found = []
    for name, place in _places(outputs):
        cases = [case for comparison in agreement.comparisons for case in comparison.outputs[place]]
        if cases:
            largest_abs, largest_rel = max(case.max_abs for case in cases), max(case.max_rel for case in cases)
            tolerance = min(case.tolerance for case in cases)
            found.append(OutputError(name, largest_abs, largest_rel, tolerance, all(case.agrees for case in cases)))
    return tuple(found)


def _places(outputs: Sequence[CheckedOutput]) -> list[tuple[str, slice]]:
    """Where the tensors of each output are among those that are compared, from the start or from the end."""
    others = [at for at, output in enumerate(outputs) if not output.is_tensor] or [len(outputs)]
    first, behind = others[0], min(others[-1] + 1, len(outputs))
    places = [(output.name, slice(at, at + 1)) for at, output in enumerate(outputs[:first])]
    if behind > first:
        between = ", ".join(output.name for output in outputs[first:behind])
        places.append((between, slice(first, behind - len(outputs) or None)))
    return places + [(outputs[at].name, slice(at, at + 1 or None)) for at in range(behind - len(outputs), 0)]


def applied_rules(rules: Sequence[Rule], library: SpecLibrary) -> tuple[AppliedRule, ...]:
    """The rules of a plan with their counts, most frequent first."""
    counts = Counter(rule.name for rule in rules)
    by_name = {rule.name: rule for rule in rules}
    return tuple(_applied(by_name[name], count, library) for name, count in counts.most_common())


def _applied(rule: Rule, count: int, library: SpecLibrary) -> AppliedRule:
    conditions = tuple(preconditions(rule))
    proof = rule.certificate or Certificate((), "", "")
    stated = {name: next(iter(statements(library, name)), "") for name in proof.axioms}
    text, fp_class = format_rule(rule), str(rule.fp_class)
    return AppliedRule(rule.name, text, count, fp_class, proof.axioms, conditions, stated, proof.engine, proof.specs)


def search_summary(found: SearchResult, costs: Costs) -> SearchSummary:
    """How a search went; progress is shown only where it was one in latency."""
    before, after = (seconds * 1e3 for seconds in costs.predicted)
    points = tuple(
        SearchPoint(at.seconds, at.explored, at.expanded, at.cost * 1e3) for at in found.history if costs.trade is None
    )
    return SearchSummary(
        before,
        after,
        found.explored,
        found.expanded,
        found.seconds,
        costs.latency.measured,
        costs.latency.measuring_s,
        found.stopped_by,
        points,
        found.recalled_from,
    )
