"""The report for people: a few lines and two tables on a terminal, plain text elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from taso_opt.core.printable import printable
from taso_opt.report.lines import equation, hanging
from taso_opt.report.quantities import OBJECTIVES, amount, duration, duration_with_spread, saving, times
from taso_opt.report.record import Comparison, MeasuredLatency, ObjectivePart, Record

MANY_RULES = 12
MANY_PLACES = 30
FEW_NAMES = 3
STYLES = {"improved": "bold green", "mismatch": "bold red"}


def render(record: Record) -> RenderableType:
    """The whole report as something that rich prints."""
    parts: list[RenderableType] = [_comparison(record)]
    if record.rules:
        parts.append(_rules(record))
    if record.passes:
        parts.append(Group(*(Text(printable(f"without a rule: {sentence}")) for sentence in record.passes)))
    if record.result == "dry-run" and record.places:
        parts.append(_places(record))
    if record.warnings:
        parts.append(Group(*(Text(f"warning: {printable(warning)}", style="yellow") for warning in record.warnings)))
    parts.append(Text(printable(_verdict(record)), style=STYLES.get(record.result, "bold")))
    return Group(*[row for part in parts for row in ("", part)][1:])


def print_report(record: Record, console: Console) -> None:
    """Write the report to a console."""
    console.print(render(record))


def comparison_lines(comparison: Comparison) -> list[str]:
    """The answer of a comparison, one fact a line, the verdict last."""
    speedup = comparison.speedup
    same = (
        "the outputs agree" if comparison.agrees else "the outputs differ: " + printable("; ".join(comparison.reasons))
    )
    return [
        f"{same} (largest error {comparison.max_abs_error:.1e} absolute, {comparison.max_rel_error:.1e} relative)",
        f"first:  {_latency(comparison.latency_first)} ({comparison.timed_in})",
        f"second: {_latency(comparison.latency_second)} ({comparison.timed_in})",
        f"speed-up of the second: {speedup.ratio:.3f}x ({speedup.low:.3f} to {speedup.high:.3f})",
        f"A/A control: {speedup.control:.3f}x ({speedup.control_low:.3f} to {speedup.control_high:.3f})",
        *(f"warning: {printable(warning)}" for warning in comparison.warnings),
        _answer(comparison),
    ]


def _answer(comparison: Comparison) -> str:
    ratio = comparison.speedup.ratio
    faster = {
        "second": f"the second is faster, {times(ratio)}x",
        "first": f"the first is faster, {times(1 / ratio)}x",
        None: "neither is faster by more than the noise",
    }
    return f"{'same' if comparison.agrees else 'not the same'}; {faster[comparison.faster]}"


def _comparison(record: Record) -> Table:
    table = _table("", "before", "best candidate" if record.shows_candidate else "after")
    total = str(_total(record.operators_before))
    table.add_row("operators", total, "" if record.shows_candidate else str(_total(record.operators_after)))
    for operator in sorted({*record.operators_before, *record.operators_after}):
        old, new = record.operators_before.get(operator, 0), record.operators_after.get(operator, 0)
        if old != new:
            table.add_row(hanging(f"  {printable(operator)}"), str(old), str(new))
    if record.latency_before is not None and record.latency_after is not None:
        table.add_row(f"latency ({record.timed_in})", _latency(record.latency_before), _latency(record.latency_after))
    for part in record.objective:
        table.add_row(OBJECTIVES[part.name], amount(part.before, part.name), amount(part.after, part.name))
    if record.speedup is not None:
        speedup = record.speedup
        table.add_row("speed-up", "", f"{speedup.ratio:.2f}x ({speedup.low:.2f} to {speedup.high:.2f})")
        control = f"{speedup.control:.3f}x ({speedup.control_low:.3f} to {speedup.control_high:.3f})"
        table.add_row("A/A control", control, "")
    if record.speedup_free_threads is not None:
        freely = record.speedup_free_threads
        table.add_row("speed-up, --threads 0", "", f"{freely.ratio:.2f}x ({freely.low:.2f} to {freely.high:.2f})")
        if freely.measured_at:
            table.add_row("", "", f"as of {freely.measured_at[:10]}")
    if record.max_abs_error is not None and record.max_rel_error is not None:
        table.add_row("largest error", "", f"{record.max_abs_error:.1e} absolute")
        table.add_row("", "", f"{record.max_rel_error:.1e} relative")
    return table


def _rules(record: Record) -> Table:
    table = _table("rule to apply" if record.result == "dry-run" else "rule applied", "times", "class", "id")
    for rule in record.rules[:MANY_RULES]:
        text = printable(rule.text.partition(" where ")[0])
        table.add_row(equation(text), str(rule.count), rule.fp_class, Text(printable(rule.id)))
    if len(record.rules) > MANY_RULES:
        hidden = record.rules[MANY_RULES:]
        table.add_row(f"and {len(hidden)} more (--json lists them)", str(sum(rule.count for rule in hidden)), "", "")
    return table


def _places(record: Record) -> Table:
    """What a dry run would do, step by step."""
    table = _table("step: nodes that would be replaced", "by rule", "predicted gain")
    for place in record.places[:MANY_PLACES]:
        hidden = place.replaced - len(place.nodes[:FEW_NAMES])
        names = ", ".join(place.nodes[:FEW_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")
        gain = "not known" if place.predicted_gain_ms is None else saving(place.predicted_gain_ms)
        table.add_row(hanging(f"{place.number}: {printable(names)}"), place.rule, gain)
    if len(record.places) > MANY_PLACES:
        table.add_row(f"and {len(record.places) - MANY_PLACES} more (--json lists them)", "", "")
    return table


def _verdict(record: Record) -> str:
    if record.result == "improved":
        early = ", with the best of an interrupted search" if record.search.stopped_by == "interrupt" else ""
        wrote = f": wrote {record.output}" if record.output else ""
        return f"{_gained(record)}{wrote} in {record.seconds:.0f} s{early}"
    if record.result == "mismatch":
        return f"a check failed, nothing written: {record.reason} ({record.seconds:.0f} s)"
    if record.result == "dry-run":
        search = record.search
        predicted = (
            f"predicted {duration(search.predicted_before_ms)} before, {duration(search.predicted_after_ms)} after"
        )
        return f"dry run, nothing written: {record.reason or predicted}"
    where = f"; {record.output} is the input as it was" if record.output else ""
    return f"unchanged: {record.reason}{where} ({record.seconds:.0f} s)"


def _gained(record: Record) -> str:
    assert record.speedup is not None, "what is improved was measured"
    gained = times(record.speedup.ratio)
    if record.reason:
        return f"kept, {gained}x now: {record.reason}"
    if record.objective:
        changes = ", ".join(f"{part.name} {_change(part)}" for part in record.objective if part.weight)
        return f"better: {changes + ', ' if changes else ''}{gained}x the speed"
    alone = " without a rule" if record.passes and not record.rules else ""
    return f"{gained}x faster{alone}"


def _change(part: ObjectivePart) -> str:
    return f"{part.after / part.before - 1:+.1%}" if part.before else f"{part.after:+.0f}"


def _latency(latency: MeasuredLatency) -> str:
    return duration_with_spread(latency.median_ms, latency.spread_ms)


def _total(operators: Mapping[str, int]) -> int:
    return sum(operators.values())


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="left" if place == 0 else "right")
    return table
