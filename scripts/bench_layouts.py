"""Optimizes by rules about layouts, by all others, by both in turn and jointly; writes docs/benchmarks-layouts.md.

Usage: python scripts/bench_layouts.py [NAME ...] [--budget S] [--output FILE]

The ablation of Figure 2.12 of the paper. A rule is about layouts when data is moved or stored otherwise on one side of
it or both (Concat, Enlarge, Expand, IdentityKernel, Pad, PairGroups, Reshape, Resize, Slice, Split, Subsample,
Transpose) and both sides compute the same: the same operators other than these, as many times, each for as many
elements. Moving a transposition through a product is such a rule; joining two products into one is none, and neither is
taking a slice before an activation, which computes less.

Each network is optimized four times, with the default options but for the rules: with those about layouts, with the
others, with the others and then what came out of it with those about layouts, and with all of them at once. All four
see the same costs. What is shown is measured, not predicted: each result against the original in one process, in turns,
divided by the original against itself (A/A).

Two things lie outside of this division. Which layout the runtime picks for itself, such as channels in blocks, is no
rule here: it enters through the costs of all four (see [decision 10](decisions/0010-layouts-are-costs.md)). And the
library holds no rule that follows from others, whichever part these are in, so that a part alone may lack one that it
would hold by itself.
"""

import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import onnx

from benchmarks.own_folder import own_folder
from benchmarks.page import table, table_row, write_page
from benchmarks.rule_parts import is_layout_rule
from networks import NETWORKS
from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.report.record import MeasuredSpeedup, Record
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_record, read_records

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks-layouts.md"
LIBRARY = ROOT / "rules" / "library.jsonl"
BENCHED = (
    "linear_attention",
    "lstm",
    "towers",
    "bert_small",
    "bert_heads",
    "repvgg",
    "resnext50_grouped",
    "resnext50_split",
    "nasnet",
)
LAYOUTS, OTHERS, IN_TURN, JOINTLY = "layouts only", "others only", "others, then layouts", "jointly"
STRATEGIES = (LAYOUTS, OTHERS, IN_TURN, JOINTLY)


@dataclass(frozen=True)
class Parts:
    """Files of the rules about layouts and of all others, and how many rules each has."""

    layouts: Path
    others: Path
    counts: tuple[int, int]


@dataclass(frozen=True)
class Result:
    """What a strategy made of a network: its speed-up, none where nothing was written, and the seconds of its searches.

    `predicted` is by what factor the search predicted it to be faster.
    """

    measured: MeasuredSpeedup | None
    predicted: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """One network and what each strategy made of it."""

    name: str
    operators: int
    results: dict[str, Result]

    @property
    def ahead(self) -> str:
        """By what factor the joint search is ahead of the best of the others, and whether beyond the intervals."""
        joint, *rest = (self.results[name].measured for name in (JOINTLY, LAYOUTS, OTHERS, IN_TURN))
        best = max((one for one in rest if one is not None), key=lambda one: one.ratio, default=None)
        mine, theirs = (1.0 if one is None else one.ratio for one in (joint, best))
        apart = (1.0 if joint is None else joint.low) > (1.0 if best is None else best.high)
        behind = (1.0 if joint is None else joint.high) < (1.0 if best is None else best.low)
        return f"{mine / theirs:.3f}" if apart or behind else f"({mine / theirs:.3f})"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--budget", default=60.0, show_default=True, help="Seconds for each search.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], budget: float, output: Path) -> None:
    """Optimize the networks named, or those of the page, by all strategies and write the page."""
    unknown = set(names) - set(NETWORKS)
    if unknown:
        raise click.UsageError(f"expected names of networks, found {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    with own_folder("layouts") as folder:
        parts = parted(LIBRARY, folder)
        print(f"{parts.counts[0]} rules about layouts, {parts.counts[1]} others", file=sys.stderr, flush=True)
        for name in names or BENCHED:
            rows.append(measure(name, folder, parts, budget))
            print(line(rows[-1]), file=sys.stderr, flush=True)
            write(rows, output, parts, budget)


def parted(library: Path, folder: Path) -> Parts:
    """The lines of a library in two files, by whether their rules are about layouts."""
    builder = load_specs().builder()
    lines = library.read_text(encoding="utf-8").splitlines(keepends=True)
    layouts, others = list[str](), list[str]()
    for record in read_records(library):
        part = layouts if is_layout_rule(read_record(record, builder, library), builder) else others
        part.append(lines[record.line - 1])
    files = folder / "layouts.jsonl", folder / "others.jsonl"
    for file, part in zip(files, (layouts, others), strict=True):
        file.write_text("".join(part), encoding="utf-8")
    return Parts(*files, (len(layouts), len(others)))


def measure(name: str, folder: Path, parts: Parts, budget: float) -> Row:
    """Optimize one network by every strategy, jointly first, so that no other one measures the costs for it."""
    path = folder / f"{name}.onnx"
    onnx.save(NETWORKS[name](), path)
    settings = OptimizeSettings(budget=budget, force=True)
    results: dict[str, Result] = {}
    with_layouts, with_others = replace(settings, rules=parts.layouts), replace(settings, rules=parts.others)
    for strategy, stages in (
        (JOINTLY, [settings]),
        (LAYOUTS, [with_layouts]),
        (OTHERS, [with_others]),
        (IN_TURN, [with_others, with_layouts]),
    ):
        results[strategy] = optimized(path, stages)
    operators = len(onnx.load(path, load_external_data=False).graph.node)
    path.unlink()
    return Row(name, operators, results)


def optimized(path: Path, stages: Iterable[OptimizeSettings]) -> Result:
    """Optimize a model, then the result of that, and measure the last result against the model."""
    current, records = path, list[Record]()
    for number, settings in enumerate(stages):
        output = path.with_name(f"{path.stem}.stage{number}.onnx")
        records.append(optimize_file(current, replace(settings, output=output)))
        current = output
    improved = any(record.result == "improved" for record in records)
    measured = compare_files(path, current, CompareSettings()).speedup if improved else None
    for number in range(len(records)):
        path.with_name(f"{path.stem}.stage{number}.onnx").unlink()
    return Result(measured, predicted(records), sum(record.search.seconds for record in records))


def predicted(records: Iterable[Record]) -> float:
    """By what factor the searches together predicted the model to become faster; 1 for each that wrote nothing."""
    factor = 1.0
    for record in records:
        if record.result == "improved":
            factor *= record.search.predicted_before_ms / record.search.predicted_after_ms
    return factor


COLUMNS = ("network", "operators", *STRATEGIES, "jointly / best of the others", "predicted, in this order")


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    cells = (
        row.name,
        str(row.operators),
        *(cell(row.results[strategy]) for strategy in STRATEGIES),
        row.ahead,
        ", ".join(f"{row.results[strategy].predicted:.2f}" for strategy in STRATEGIES),
    )
    return table_row(cells)


def cell(result: Result) -> str:
    """A speed-up with its interval; 1 where the model was left as it was."""
    found = result.measured
    return "unchanged" if found is None else found.with_interval


def write(rows: Sequence[Row], output: Path, parts: Parts, budget: float) -> None:
    """Write the page."""
    layouts, others = parts.counts
    lines = [
        f"Made by `make bench-layouts` on {platform.machine()}, Python {platform.python_version()}, one thread, search "
        f"budget {budget:.0f} s. Of the {layouts + others} rules of the library {layouts} are about layouts and "
        f"{others} are not.",
        "",
        "Speed-ups have their 95% interval; `unchanged` counts as 1. In brackets stands what the intervals do not tell "
        "apart.",
        "",
        *table(COLUMNS, map(line, rows)),
    ]
    write_page(output, "Layouts and other rewritings", __doc__, lines)


if __name__ == "__main__":
    main()
