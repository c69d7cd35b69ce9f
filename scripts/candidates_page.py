"""Writes docs/candidates.md: what became of all candidates, with a counterexample or a reason where one is not proved.

Usage: python scripts/candidates_page.py VERDICTS.. [--useless FILE] [--library FILE] [--output FILE]; VERDICTS are what
`tasoopt verify --json` printed, the other files are equations that were not verified and the library that was made
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from taso_opt.core.rule import Rule
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.rule_file import read_equations, read_rules
from taso_opt.spec.text import parse_rule
from taso_opt.verify.definitions import ENGINE as BY_MEANINGS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "candidates.md"
TARGET = 95
"""Of the candidates that are not proved so many in a hundred have to be explained."""

UNEXPLAINED = ("resource limit", "stopped", "died")
"""Words of reasons that say only that the search for a proof was given up."""

INTRODUCTION = """# What became of the candidates

Written by `make rules`; do not edit. `tasoopt generate` suggests equations because both sides agree on samples; only
what `tasoopt verify` proves gets into the library. Every other candidate stands below: false ones with the numbers
that show it, and those that are neither proved nor refuted with the reason. A candidate is *explained* when it is
refuted, or when no axiom applies to it any more and the meanings of its operators do not give it either (so that it is
known where the sides part). It is not when the search for a proof was given up."""

LARGER = """
## What is kept

The library holds what is proved and does not follow from the other rules. A second, larger enumeration adds what it
finds of up to three operators, and of its larger equations the useful ones: those that, read in one direction in which
they can be applied, have the target compute with fewer operators or fewer floating-point operations at some sizes, or
move less where it computes the same. What follows from the rules that are there already is not verified. Definitions
of operators are tried whatever their size, and all of them are verified."""

FAMILIES: Mapping[str, frozenset[str]] = {
    "convolutions and pools": frozenset({"Conv", "AveragePool", "MaxPool", "Enlarge", "PoolKernel", "PairGroups"}),
    "products": frozenset({"MatMul"}),
    "joins, splits and slices": frozenset({"Concat", "Split", "Slice"}),
    "other movements": frozenset({"Transpose", "Reshape"}),
}
"""What an equation is about: the first family of which it mentions an operator."""

OTHERS = "element by element"
HEAD = (
    "equations",
    "suggested",
    "not useful",
    "follow from smaller",
    "proved from axioms",
    "by meanings",
    "refuted",
    "neither",
    "in the library",
)

Entry = Mapping[str, Any]
Sizes = Mapping[str, int]


def main(arguments: Sequence[str]) -> int:
    """Write the page; exit code 1 when too few candidates are explained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("verdicts", type=Path, nargs="+", help="what `tasoopt verify --json` printed")
    parser.add_argument("--useless", type=Path, help="equations that were not verified because they are of no use")
    parser.add_argument("--library", type=Path, help="the library that was made")
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write [docs/candidates.md]")
    options = parser.parse_args(arguments)
    library = load_specs()
    builder = library.builder()
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in options.verdicts]
    entries = [entry for document in documents for entry in document["verdicts"]]
    following = [parse_rule(text, builder) for document in documents for text in document.get("following", ())]
    useless = [rule for _, rule in read_equations(options.useless, builder)] if options.useless else []
    kept = tuple(read_rules(options.library, builder)) if options.library else ()
    counted = what_is_kept(library, entries, useless, following, kept)
    text = "\n".join((*page(entries), *counted, *unproved(entries)))
    options.output.write_text(f"{text}\n", encoding="utf-8")
    counts = Counter(entry["verdict"] for entry in entries)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("proved", "refuted", "unknown"))
    print(f"{len(entries)} candidates: {tally}; {len(kept)} rules; see {options.output}", file=sys.stderr)
    return 0 if explained_share(entries) >= TARGET else 1


def explained_share(entries: Sequence[Entry]) -> float:
    """How many in a hundred of the candidates that are not proved are explained; a hundred when all are proved."""
    missing = [entry for entry in entries if entry["verdict"] != "proved"]
    explained = sum(not any(word in entry.get("reason", "") for word in UNEXPLAINED) for entry in missing)
    return 100 * explained / len(missing) if missing else 100.0


def page(entries: Sequence[Entry]) -> Iterator[str]:
    """The beginning of the page as lines of Markdown: what became of all that was verified."""
    yield from (INTRODUCTION, "")
    engines = Counter(entry["engine"] for entry in entries if entry["verdict"] == "proved")
    counts = Counter(entry["verdict"] for entry in entries)
    yield "| verified | proved | of them by meanings | refuted | neither | explained of those not proved |"
    yield "|---|---|---|---|---|---|"
    meant = engines[BY_MEANINGS]
    share = f"{explained_share(entries):.1f}%"
    yield _row((len(entries), counts["proved"], meant, counts["refuted"], counts["unknown"], share))


def what_is_kept(
    library: SpecLibrary,
    entries: Sequence[Entry],
    useless: Sequence[Rule],
    following: Sequence[Rule],
    kept: Sequence[Rule],
) -> Iterator[str]:
    """How many equations of each size, and of the larger ones of each family, came how far."""
    builder = library.builder()
    verified = [(parse_rule(entry["rule"], builder), entry) for entry in entries]
    yield from (LARGER, "", _row(HEAD), "|" + "---|" * len(HEAD))
    names = {rule.size: f"of {rule.size} operator{'s' if rule.size > 1 else ''}" for rule, _ in verified}
    names.update({rule.size: f"of {rule.size} operators" for rule in useless})
    for size, name in sorted(names.items()):
        some = [one for one in verified if one[0].size == size]
        rest = [[rule for rule in rules if rule.size == size] for rules in (useless, following, kept)]
        yield _counted(name, some, *rest)
    sizes = {rule.size for rule in useless}
    for size, family in ((size, family) for size in sorted(sizes) for family in (*FAMILIES, OTHERS)):
        some = [one for one in verified if _is_of(one[0], size, family)]
        rest = [[rule for rule in rules if _is_of(rule, size, family)] for rules in (useless, following, kept)]
        yield _counted(f"{family}, {size} operators", some, *rest)


def _is_of(rule: Rule, size: int, family: str) -> bool:
    return rule.size == size and family_of(rule) == family


def family_of(rule: Rule) -> str:
    """What an equation is about."""
    return next((name for name, operators in FAMILIES.items() if rule.operators & operators), OTHERS)


def _counted(
    name: str,
    verified: Sequence[tuple[Rule, Entry]],
    useless: Sequence[Rule],
    following: Sequence[Rule],
    kept: Sequence[Rule],
) -> str:
    verdicts = Counter(entry["verdict"] for _, entry in verified)
    meant = sum(entry["verdict"] == "proved" and entry["engine"] == BY_MEANINGS for _, entry in verified)
    suggested = len(verified) + len(useless) + len(following)
    proved = (verdicts["proved"] - meant, meant, verdicts["refuted"], verdicts["unknown"])
    return _row((name, suggested, len(useless), len(following), *proved, len(kept)))


def unproved(entries: Sequence[Entry]) -> Iterator[str]:
    """The candidates that are not proved, each with its counterexample or the reason."""
    yield from ("", "## Refuted", "")
    refuted = [entry for entry in entries if entry["verdict"] == "refuted"]
    yield from (f"- `{entry['rule']}`<br>{_counterexample(entry['counterexample'])}" for entry in refuted)
    yield from () if refuted else ("None.",)
    yield from ("", "## Neither proved nor refuted", "")
    unknown = [entry for entry in entries if entry["verdict"] == "unknown"]
    yield from (f"- `{entry['rule']}`<br>{entry['reason']}" for entry in unknown)
    yield from () if unknown else ("None.",)


def _counterexample(found: Mapping[str, Any]) -> str:
    place = f" at {found['place']}" if found["place"] else ""
    return (
        f"with {', '.join(found['variables'])} the sides are {found['source_value']} and {found['target_value']}{place}"
        f" ({found['arithmetic']})"
    )


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
