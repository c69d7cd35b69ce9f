"""Fills the parts of a record from what the measurement and the search return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from taso_opt.core.rule import Rule
from taso_opt.report.record import AppliedRule, MeasuredLatency, MeasuredSpeedup, Record, SearchSummary
from taso_opt.runtime import Contestant, Latency, LatencyComparison
from taso_opt.search.finals import Finals
from taso_opt.search.plan import SearchResult
from taso_opt.spec.text import format_rule


def measured_latency(comparison: LatencyComparison, latency: Latency) -> MeasuredLatency:
    """One model's latency, on the clock that decides and on both."""
    timing = comparison.timing(latency)
    return MeasuredLatency(timing.median_ms, timing.spread_ms, latency.cpu.median_ms, latency.wall.median_ms)


def measured_speedup(comparison: LatencyComparison, contestant: Contestant) -> MeasuredSpeedup:
    """A contestant's speed-up, corrected by the control, with its interval and the control beside it."""
    ratio, control = comparison.ratio(contestant), comparison.ratio(comparison.control)
    return MeasuredSpeedup(
        ratio=comparison.corrected(contestant),
        low=ratio.low / control.value,
        high=ratio.high / control.value,
        control=control.value,
        control_low=control.low,
        control_high=control.high,
        wall_ratio=contestant.wall_ratio.value,
    )


def with_measurement(record: Record, finals: Finals) -> Record:
    """The record with what the finals measured."""
    latency = finals.latency
    return replace(
        record,
        clock=latency.clock,
        latency_before=measured_latency(latency, latency.original),
        latency_after=measured_latency(latency, finals.finalist.latency),
        speedup=measured_speedup(latency, finals.finalist),
        max_abs_error=finals.agreement.max_abs,
        max_rel_error=finals.agreement.max_rel,
        warnings=finals.agreement.warnings,
    )


def applied_rules(rules: Sequence[Rule]) -> tuple[AppliedRule, ...]:
    """The rules of a plan with their counts, most frequent first."""
    counts = Counter(rule.name for rule in rules)
    by_name = {rule.name: rule for rule in rules}
    return tuple(_applied(by_name[name], count) for name, count in counts.most_common())


def _applied(rule: Rule, count: int) -> AppliedRule:
    axioms = rule.certificate.axioms if rule.certificate is not None else ()
    return AppliedRule(rule.name, format_rule(rule), count, str(rule.fp_class), axioms)


def search_summary(found: SearchResult) -> SearchSummary:
    """How a search went, its predictions in milliseconds."""
    before, after = found.plans[-1].cost * 1e3, found.plans[0].cost * 1e3
    return SearchSummary(before, after, found.explored, found.expanded, found.seconds, found.stopped_by)
