"""Writes docs/candidates.md: what became of all candidates, with a counterexample or a reason where one is not proved.

Usage: python scripts/candidates_page.py VERDICTS [--output FILE]; VERDICTS is what `tasoopt verify --json` printed
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.index_functions.prove import prove_for_all_sizes
from taso_opt.verify.verdict import Unknown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "candidates.md"
TARGET = 95
"""Of the candidates that are not proved so many in a hundred have to be explained."""

UNEXPLAINED = ("resource limit", "stopped", "died")
"""Words of reasons that say only that the search for a proof was given up."""

MEANT = "true at all sizes by the meanings of its operators, but the axioms do not give it"

INTRODUCTION = """# What became of the candidates

Written by `make rules`; do not edit. `tasoopt generate` suggests equations because both sides agree on samples; only
what `tasoopt verify` proves gets into the library. Every other candidate stands below: false ones with the numbers
that show it, and those that are neither proved nor refuted with the reason. A candidate is *explained* when it is
refuted, when no axiom applies to it any more (so that it is known which law is missing), or when it follows from the
meanings of its operators at all sizes, which the proofs from axioms do not use. It is not when the search for a proof
was given up.
"""

Entry = Mapping[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Write the page; exit code 1 when too few candidates are explained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("verdicts", type=Path, help="what `tasoopt verify --json` printed")
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write [docs/candidates.md]")
    options = parser.parse_args(arguments)
    entries = json.loads(options.verdicts.read_text(encoding="utf-8"))["verdicts"]
    reasons = explanations(load_specs(), entries)
    options.output.write_text("\n".join(page(entries, reasons)) + "\n", encoding="utf-8")
    counts = Counter(entry["verdict"] for entry in entries)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("proved", "refuted", "unknown"))
    print(f"{len(entries)} candidates: {tally}; see {options.output}", file=sys.stderr)
    return 0 if explained_share(entries, reasons) >= TARGET else 1


def explanations(library: SpecLibrary, entries: Sequence[Entry]) -> dict[str, str]:
    """The reason for each candidate without a verdict, by its text; what the meanings say goes before what Z3 said."""
    return {entry["rule"]: _reason(library, entry) for entry in entries if entry["verdict"] == "unknown"}


def _reason(library: SpecLibrary, entry: Entry) -> str:
    builder = library.builder()
    rule = parse_rule(entry["rule"], builder)
    if isinstance(prove_for_all_sizes(builder, rule.source, rule.target), Unknown):
        return str(entry["reason"])
    return MEANT


def explained_share(entries: Sequence[Entry], reasons: Mapping[str, str]) -> float:
    """How many in a hundred of the candidates that are not proved are explained; a hundred when all are proved."""
    refuted = sum(entry["verdict"] == "refuted" for entry in entries)
    explained = refuted + sum(not any(word in reason for word in UNEXPLAINED) for reason in reasons.values())
    return 100.0 if not refuted + len(reasons) else 100 * explained / (refuted + len(reasons))


def page(entries: Sequence[Entry], reasons: Mapping[str, str]) -> Iterator[str]:
    """The page as lines of Markdown."""
    yield INTRODUCTION
    counts = Counter(entry["verdict"] for entry in entries)
    share = explained_share(entries, reasons)
    yield "| candidates | proved | refuted | true by meanings alone | other reasons | explained of those not proved |"
    yield "|---|---|---|---|---|---|"
    meant = [rule for rule, reason in reasons.items() if reason == MEANT]
    others = {rule: reason for rule, reason in reasons.items() if reason != MEANT}
    cells = (len(entries), counts["proved"], counts["refuted"], len(meant), len(others), f"{share:.1f}%")
    yield f"| {' | '.join(map(str, cells))} |"
    yield from ("", "## Refuted", "")
    refuted = [entry for entry in entries if entry["verdict"] == "refuted"]
    yield from (f"- `{entry['rule']}`<br>{_counterexample(entry['counterexample'])}" for entry in refuted)
    yield from () if refuted else ("None.",)
    yield from ("", "## Neither proved nor refuted", "")
    yield from (f"- `{rule}`<br>{reason}" for rule, reason in others.items())
    yield from ("", "## True at all sizes by the meanings of their operators", "", "No axiom says these:", "")
    yield from (f"- `{rule}`" for rule in meant)


def _counterexample(found: Mapping[str, Any]) -> str:
    place = f" at {found['place']}" if found["place"] else ""
    return (
        f"with {', '.join(found['variables'])} the sides are {found['source_value']} and {found['target_value']}{place}"
        f" ({found['arithmetic']})"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
