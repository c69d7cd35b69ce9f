"""Renders a record as one self-contained HTML page: no script, no network, every name from a model escaped."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from taso_opt.report.evidence import Place
from taso_opt.report.layers import Placed, cut, place, shortened
from taso_opt.report.plots import Heat, heat_map, latency_plot, progress_plot, ratio_plot
from taso_opt.report.quantities import OBJECTIVES, amount, duration, saving, times
from taso_opt.report.record import AppliedRule, Record

TEMPLATE, SUMMARY = "report.html.j2", "summary.html.j2"
HEADLINES = {
    "unchanged": "unchanged",
    "dry-run": "dry run, nothing written",
    "mismatch": "a check failed, nothing written",
}
STOPPED_BY = {
    "exhausted": "there were no more graphs to explore",
    "budget": "its time was up (a larger --budget lets it go on)",
    "expansions": "the limit of expanded graphs was reached",
    "patience": "it had stopped gaining",
    "interrupt": "the user interrupted it",
}
OPEN_RULES = 5
"""So many rules are shown unfolded: with forty of them the rest of the page would be out of sight."""

SUMMARY_RULES = 12
NOT_OPTIONS = frozenset({"dry_run", "output"})


@dataclass(frozen=True)
class DrawnPlace:
    """A place with its two drawings laid out."""

    place: Place
    before: Placed
    after: Placed


@dataclass(frozen=True)
class RuleSection:
    """All that the page says about one rule."""

    rule: AppliedRule
    equation: str
    heat: Heat | None
    gain_ms: float | None
    drawn: tuple[DrawnPlace, ...]
    places: int


def render_html(record: Record) -> str:
    """The page."""
    return _template(TEMPLATE).render(
        record=record,
        objectives=OBJECTIVES,
        headline=headline(record),
        sections=_sections(record),
        operators=_changed_operators(record),
        latency=latency_plot(record),
        ratio=ratio_plot(record),
        progress=progress_plot(record.search.progress),
        stopped_by=STOPPED_BY.get(record.search.stopped_by, record.search.stopped_by),
        costliest=max((max(cost.before_ms, cost.after_ms) for cost in record.costs), default=0.0),
        command=[shlex.quote(word) for word in command_words(record)],
        open_rules=OPEN_RULES,
    )


def render_summary(record: Record) -> str:
    """A short form of the page, without styles of its own, to stand inside another page such as a notebook."""
    return _template(SUMMARY).render(record=record, headline=headline(record), most_rules=SUMMARY_RULES)


def headline(record: Record) -> str:
    """The answer in a few words."""
    if record.result == "improved" and record.reason:
        return "kept"
    if record.result == "improved" and record.objective:
        return "better by the objective"
    if record.result == "improved" and record.speedup is not None:
        return f"{times(record.speedup.ratio)} times as fast"
    return HEADLINES.get(record.result, record.result)


def command_words(record: Record) -> list[str]:
    """The words of the command that does the same again."""
    model = f"./{record.input}" if record.input.startswith("-") else record.input  # no option
    words = ["tasoopt", "optimize", model]
    if record.output is not None and record.settings.get("output") is not None:
        words += ["-o", record.output]
    for name, value in record.settings.items():
        words += _option(name, value)
    if record.settings.get("dry_run"):
        words.append("--dry-run")
    return words


def _option(name: str, value: Any) -> list[str]:
    if name == "dims" and isinstance(value, Mapping):
        return [word for dim, sizes in value.items() for word in ("--dim", f"{dim}={_sizes(sizes)}")]
    if name == "cuda_options" and isinstance(value, Mapping):
        return [word for option, text in value.items() for word in ("--cuda-option", f"{option}={text}")]
    flag = f"--{name.replace('_', '-')}"
    if name in NOT_OPTIONS or value is None or value is False:
        return []
    return [flag] if value is True else [flag, str(value)]


def _sizes(sizes: Any) -> str:
    return str(sizes) if isinstance(sizes, int) else ",".join(map(str, sizes))


def _sections(record: Record) -> list[RuleSection]:
    heat = heat_map(record.places)
    by_rule: dict[str, list[Place]] = {}
    for entry in record.places:
        by_rule.setdefault(entry.rule, []).append(entry)
    return [_section(rule, heat.get(rule.id), by_rule.get(rule.id, [])) for rule in record.rules]


def _section(rule: AppliedRule, heat: Heat | None, places: Sequence[Place]) -> RuleSection:
    equation = rule.text.partition(" where ")[0]
    gains = [entry.predicted_gain_ms for entry in places]
    known = [gain for gain in gains if gain is not None]
    drawn = tuple(
        DrawnPlace(entry, place(entry.before), place(entry.after))
        for entry in places
        if entry.before is not None and entry.after is not None
    )
    total = sum(known) if known and len(known) == len(gains) else None
    return RuleSection(rule, equation, heat, total, drawn, len(places))


def _changed_operators(record: Record) -> list[tuple[str, int, int]]:
    """Operators whose number changed, with the number before and after."""
    before, after = record.operators_before, record.operators_after
    rows = [(name, before.get(name, 0), after.get(name, 0)) for name in sorted({*before, *after})]
    return [row for row in rows if row[1] != row[2]]


def visible(value: object) -> object:
    """What a template prints, with characters that would change the text around them spelled out."""
    if not isinstance(value, str) or value.isprintable() or isinstance(value, Markup):
        return value
    return "".join(_spelled(character) for character in value)


def _spelled(character: str) -> str:
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs") and character != "\n"
    return f"\\u{ord(character):04x}" if hidden else character


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("taso_opt.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=duration,
        saving=_saving,
        small=_small,
        bytes=_bytes,
        cut=cut,
        share=_share,
        plain=_plain,
        shortened=shortened,
        quantity=amount,
    )
    return environment.get_template(name)


def _saving(value: float) -> str:
    return saving(value).replace("-", "\N{MINUS SIGN}")


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}"


def _share(value: float, most: float) -> float:
    return round(100 * value / most, 1) if most > 0 else 0.0


def _bytes(value: int) -> str:
    sign = "\N{MINUS SIGN}" if value < 0 else "+" if value > 0 else ""
    size = float(abs(value))
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{sign}{size:.0f} {unit}" if unit == "bytes" else f"{sign}{size:.1f} {unit}"
        size /= 1000
    return f"{sign}{size:.1f} GB"


def _plain(value: Any) -> str:
    """A setting as a user would say it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={part}" for name, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
