"""What `tasoopt explain` says about one node: the rules that fit there, and why each of the others does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from taso_opt.core.printable import printable
from taso_opt.report.quantities import saving

SCHEMA_VERSION = 1
FITTING = {
    "gains": "fits and gains",
    "loses": "fits and does not gain",
    "cyclic": "fits, but would need its own result",
    "unwritable": "fits, but cannot be written into this model",
    "class": "fits, but is of a looser floating-point class than allowed",
    "refused": "fits, but the runtime cannot run it",
}
"""What becomes of a rule that fits, best first."""

REFUSED = {
    "alone": "fits this node, which has no partner",
    "precondition": "has the right operators, but a precondition does not hold",
    "structure": "expects other operators",
}
NEAR_MISSES = 10


@dataclass(frozen=True)
class Considered:
    """One rule in one direction at one node.

    `verdict` is a key of FITTING or REFUSED; `reason` gives the values; `change_ms` is the predicted change of the
    model's cost, negative when it gains; `replaces` names the first of the `replaced` nodes that are replaced together.
    """

    rule: str
    text: str
    fp_class: str
    verdict: str
    reason: str
    change_ms: float | None = None
    replaces: tuple[str, ...] = ()
    replaced: int = 0


@dataclass(frozen=True)
class Explanation:
    """All rules that were considered at one node, the most promising first; `note` says why there are none."""

    model: str
    node: str
    operator: str
    values: tuple[str, ...]
    considered: tuple[Considered, ...]
    note: str = ""

    def document(self) -> dict[str, Any]:
        """The explanation as one JSON document."""
        return {"schema_version": SCHEMA_VERSION, "command": "explain", **asdict(self)}


def explanation_lines(found: Explanation, with_all: bool) -> Iterator[str]:
    """The explanation as text; without `with_all` only the nearest misses among the rules that do not fit."""
    yield from map(printable, _lines(found, with_all))


def _lines(found: Explanation, with_all: bool) -> Iterator[str]:
    yield f"node {found.node}: {found.operator} gives {', '.join(found.values) or 'nothing'}"
    if found.note:
        yield found.note
    for verdict, title in FITTING.items():
        yield from _group(title, [one for one in found.considered if one.verdict == verdict])
    for verdict, title in REFUSED.items():
        entries = [one for one in found.considered if one.verdict == verdict]
        shown = entries if with_all else entries[: NEAR_MISSES if verdict != "structure" else 0]
        yield from _group(title, shown, len(entries) - len(shown))


def _group(title: str, entries: list[Considered], hidden: int = 0) -> Iterator[str]:
    if not entries and not hidden:
        return
    yield ""
    yield f"{title}: {len(entries) + hidden}"
    said = Counter(one.text.partition(" where ")[0] for one in entries)
    for one in entries:
        equation, _, types = one.text.partition(" where ")
        change = "" if one.change_ms is None else f"  gain {saving(-one.change_ms)}"
        yield f"  {one.rule}  {one.fp_class}{change}  {equation}"
        if said[equation] > 1:  # rules that say the same of other types
            yield f"      where {types}"
        if len(one.replaces) > 1:
            more = f" and {one.replaced - len(one.replaces)} more" if one.replaced > len(one.replaces) else ""
            yield f"      replaces {', '.join(one.replaces)}{more}"
        if one.reason:
            yield f"      {one.reason}"
    if hidden:
        yield f"  {hidden} not shown (--all shows them)"
