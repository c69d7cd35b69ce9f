"""Repeats the measurement of results and counts how often the speed-up lies in its interval.

Usage: python scripts/bench_intervals.py [NAME ...] [--repetitions N] [--output FILE]

Each network is optimized once, then compared with its result as often as asked, each time by new sessions with another
seed, as `tasoopt compare` does it. An interval that says 95% holds what a repetition finds in 19 of 20 cases: counted
are all pairs of an interval and another repetition's speed-up, and the intervals that hold the median of all. The
machine's other users may change the speed-up itself from one minute to the next; that is in no interval.
"""

import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import click

from benchmarks.models import DIMS, models
from benchmarks.own_folder import own_folder
from benchmarks.page import table, write_page
from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.errors import TasoError
from taso_opt.report.record import MeasuredSpeedup

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-intervals.md"
NAMES = ("lstm", "towers", "bert_small", "densenet121", "repvgg", "mobilenet_spellings", "pp_ocr_cls", "mtcnn_onet")
COLUMNS = (
    "model",
    "speed-up, median",
    "smallest",
    "largest",
    "interval, median width",
    "intervals that hold the median",
    "repetitions in another's interval",
)


@dataclass(frozen=True)
class Row:
    """One model's repetitions."""

    name: str
    found: tuple[MeasuredSpeedup, ...]

    @property
    def median(self) -> float:
        """The speed-up in the middle."""
        return statistics.median(one.ratio for one in self.found)

    @property
    def holding(self) -> int:
        """How many intervals hold the median."""
        return sum(one.low <= self.median <= one.high for one in self.found)

    @property
    def repeated(self) -> float:
        """The share of pairs in which the interval of one repetition holds the speed-up of the other."""
        pairs = list(permutations(self.found, 2))
        return sum(one.low <= other.ratio <= one.high for one, other in pairs) / len(pairs)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--repetitions", type=click.IntRange(2), default=20, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], repetitions: int, output: Path) -> None:
    """Repeat the comparisons of the models named, or of a choice of all families, and write the page."""
    rows: list[Row] = []
    with own_folder("intervals") as folder:
        for name, _, path in models(names or NAMES, folder):
            result = folder / f"{name}.opt.onnx"
            settings = OptimizeSettings(output=result, dims=DIMS.get(name, {}))
            try:
                record = optimize_file(path, settings)
                if record.result != "improved":
                    print(f"{name}: {record.reason}", file=sys.stderr)
                    continue
                compared = CompareSettings(dims=settings.bindings[0])
                found = [speedup(path, result, replace(compared, seed=seed)) for seed in range(repetitions)]
            except TasoError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            rows.append(Row(name, tuple(found)))
            print(line(rows[-1]), file=sys.stderr, flush=True)
            write(rows, output)


def speedup(original: Path, result: Path, settings: CompareSettings) -> MeasuredSpeedup:
    """One repetition of the measurement."""
    found = compare_files(original, result, settings).speedup
    assert found is not None, "models that were compared before can be timed"
    return found


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    ratios = [one.ratio for one in row.found]
    width = statistics.median(one.high - one.low for one in row.found)
    holding = f"{row.holding} of {len(row.found)}"
    figures = " | ".join(f"{one:.3f}" for one in (row.median, min(ratios), max(ratios), width))
    return f"| {row.name} | {figures} | {holding} | {row.repeated:.0%} |"


def write(rows: Sequence[Row], output: Path) -> None:
    """Write the page."""
    holding, repetitions = sum(row.holding for row in rows), sum(len(row.found) for row in rows)
    lines = [
        f"Made by `make bench-intervals` on {platform.machine()}, Python {platform.python_version()}, one thread: "
        f"{holding} of {repetitions} intervals hold the median speed-up, and "
        f"{statistics.mean(row.repeated for row in rows):.0%} of repetitions lie in the interval of another.",
        "",
        *table(COLUMNS, map(line, rows)),
    ]
    write_page(output, "How often intervals hold", __doc__, lines)


if __name__ == "__main__":
    main()
