"""Draws which rules were used on which models, the heat map of the paper, and writes docs/benchmarks-rules.md.

scripts/bench.py calls it whenever it writes docs/benchmarks.md.

Each row is a model of the [benchmarks](benchmarks.md) that was improved, each column a rule; the darker a cell, the
more often the rule was applied in the rewriting that won the finals. Below the map stands what each column says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log
from pathlib import Path

from .page import write_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENT, DRAWING = DOCS / "benchmarks-rules.md", DOCS / "benchmarks-rules.svg"
CELL, LEFT, TOP = 18, 170, 30
LIGHT, DARK = (222, 235, 247), (8, 48, 107)


@dataclass(frozen=True)
class Usage:
    """One model and the rules of its rewriting: by id, how often each was applied and what it says."""

    model: str
    rules: Mapping[str, tuple[int, str]]


def write(usages: Sequence[Usage], document: Path, drawing: Path) -> None:
    """Write the drawing and the page that shows it."""
    order = columns(usages)
    drawing.write_text(heat_map(usages, order), encoding="utf-8")
    lines = [
        f"{len(usages)} models, {len(order)} different rules.",
        "",
        f"![Rules by model]({drawing.name})",
        "",
        "| column | rule | models | applied |",
        "|---|---|---|---|",
        *(legend(number, id, usages) for number, id in enumerate(order, start=1)),
    ]
    write_page(document, "Which rules were used", __doc__, lines)


def columns(usages: Sequence[Usage]) -> list[str]:
    """The ids of all rules, those used on most models first, then those used most often."""
    ids = {id for usage in usages for id in usage.rules}
    return sorted(ids, key=lambda id: (-models(id, usages), -applied(id, usages), id))


def models(id: str, usages: Sequence[Usage]) -> int:
    """On how many models a rule was used."""
    return sum(id in usage.rules for usage in usages)


def applied(id: str, usages: Sequence[Usage]) -> int:
    """How often a rule was applied in all."""
    return sum(usage.rules[id][0] for usage in usages if id in usage.rules)


def legend(number: int, id: str, usages: Sequence[Usage]) -> str:
    """What a column stands for, as a row of a table."""
    text = next(usage.rules[id][1] for usage in usages if id in usage.rules).partition(" where ")[0]
    shown = text.replace("|", "\\|")
    return f"| {number} | `{shown}` ({id}) | {models(id, usages)} | {applied(id, usages)} |"


def heat_map(usages: Sequence[Usage], order: Sequence[str]) -> str:
    """The map as an SVG drawing; every cell tells its numbers when it is pointed at."""
    most = max((count for usage in usages for count, _ in usage.rules.values()), default=1)
    width, height = LEFT + CELL * len(order) + 10, TOP + CELL * len(usages) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number in range(1, len(order) + 1):
        x = LEFT + CELL * (number - 0.5)
        parts.append(f'<text x="{x}" y="{TOP - 8}" text-anchor="middle" font-size="9">{number}</text>')
    for row, usage in enumerate(usages):
        y = TOP + CELL * row
        parts.append(f'<text x="{LEFT - 6}" y="{y + CELL - 5}" text-anchor="end">{escape(usage.model)}</text>')
        for column, id in enumerate(order):
            count = usage.rules.get(id, (0, ""))[0]
            tip = escape(f"{usage.model}: rule {column + 1} ({id}), {count} times")
            parts.append(
                f'<rect x="{LEFT + CELL * column}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
                f'fill="{colour(count, most)}"><title>{tip}</title></rect>'
            )
    return "\n".join([*parts, "</svg>", ""])


def colour(count: int, most: int) -> str:
    """Grey for none, else from light to dark blue on a logarithmic scale."""
    if count == 0:
        return "#f2f2f2"
    share = log(count + 1) / log(most + 1)
    red, green, blue = (round(low + (high - low) * share) for low, high in zip(LIGHT, DARK, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
