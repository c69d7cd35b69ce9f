"""Repeats the measurement of results and counts how often the speed-up lies in its interval.

Usage: python scripts/bench_intervals.py [NAME ...] [--repetitions N] [--output FILE]

Each network is optimized once, then compared with its result as often as asked, each time by new sessions with another
seed, as `tasoopt compare` does it. The true speed-up is taken to be the median of all repetitions. An interval that
says 95% holds it in 19 of 20 repetitions. The machine's other users may change the speed-up itself from one minute to
the next; that is in no interval.
"""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bench import models
from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.report.record import MeasuredSpeedup

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-intervals.md"
NAMES = ("lstm", "towers", "bert_small", "densenet121", "repvgg", "mobilenet_spellings", "pp_ocr_cls", "mtcnn_onet")
COLUMNS = ("model", "speed-up, median", "smallest", "largest", "interval, median width", "intervals that hold it")


@dataclass(frozen=True)
class Row:
    """One model's repetitions."""

    name: str
    found: tuple[MeasuredSpeedup, ...]

    @property
    def median(self) -> float:
        """The speed-up that is taken to be the true one."""
        return statistics.median(one.ratio for one in self.found)

    @property
    def holding(self) -> int:
        """How many intervals hold it."""
        return sum(one.low <= self.median <= one.high for one in self.found)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--repetitions", default=20, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], repetitions: int, output: Path) -> None:
    """Repeat the comparisons of the models named, or of a choice of all families, and write the page."""
    rows: list[Row] = []
    with TemporaryDirectory(prefix="tasoopt-intervals-") as folder:
        for name, _, path in models(names or NAMES, Path(folder)):
            result = Path(folder) / f"{name}.opt.onnx"
            record = optimize_file(path, OptimizeSettings(output=result))
            if record.result != "improved":
                print(f"{name}: {record.reason}", file=sys.stderr)
                continue
            rows.append(Row(name, tuple(compared(path, result, seed) for seed in range(repetitions))))
            print(line(rows[-1]), file=sys.stderr, flush=True)
            write(rows, output)


def compared(original: Path, result: Path, seed: int) -> MeasuredSpeedup:
    """One repetition of the measurement."""
    speedup = compare_files(original, result, CompareSettings(seed=seed)).speedup
    assert speedup is not None, "models that were compared before can be timed"
    return speedup


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    ratios = [one.ratio for one in row.found]
    width = statistics.median(one.high - one.low for one in row.found)
    holding = f"{row.holding} of {len(row.found)}"
    return f"| {row.name} | {row.median:.3f} | {min(ratios):.3f} | {max(ratios):.3f} | {width:.3f} | {holding} |"


def write(rows: Sequence[Row], output: Path) -> None:
    """Write the page."""
    holding, repetitions = sum(row.holding for row in rows), sum(len(row.found) for row in rows)
    text = [
        "# How often intervals hold",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        f"Made by `make bench-intervals`: {holding} of {repetitions} intervals hold the median speed-up.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
        *map(line, rows),
        "",
    ]
    output.write_text("\n".join(text))


if __name__ == "__main__":
    main()
