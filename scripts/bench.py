"""Measures what this tool and four others gain on every benchmark network and model, and writes docs/benchmarks.md.

Usage: python scripts/bench.py [NAME ...] [--threads N] [--budget S] [--no-peers] [--output FILE]

The baseline is the original under ONNX Runtime with all its own optimizations. It takes turns with the results in one
process, and with itself as the control (A/A). Speed-ups are ratios of thread CPU time at one thread and of wall time
otherwise, divided by the control's ratio.
"""

import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean

import click

from benchmarks import rule_usage, standings
from benchmarks.models import DIMS, models
from benchmarks.own_folder import own_folder
from benchmarks.page import write_page
from benchmarks.peers import missing
from benchmarks.side_by_side import side_by_side
from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.errors import TasoError
from taso_opt.report.record import Comparison, MeasuredSpeedup, Record
from taso_opt.runtime import RunSettings

ERROR = "error"

BESIDE = 2
"""The number of threads at which results are compared once more."""

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Row:
    """One line of the table: a model and what became of it."""

    name: str
    kind: str
    record: Record | None
    error: str
    total_s: float
    beside: MeasuredSpeedup | None = None
    """What the result gains with another number of threads."""

    again: str = ""
    """How many seconds a second run took, and whether it wrote another file."""

    standing: standings.Standing | None = None
    """How it does beside the results of other tools, where they were measured."""

    @property
    def answer(self) -> str:
        """What became of the model in a word."""
        return ERROR if self.record is None else self.record.result


@click.command()
@click.argument("names", nargs=-1)
@click.option("--threads", default=1, show_default=True)
@click.option("--budget", type=float, show_default="as `tasoopt optimize`", help="Seconds for each search.")
@click.option("--peers/--no-peers", default=True, show_default=True, help="Whether to measure other tools too.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], threads: int, budget: float | None, peers: bool, output: Path) -> None:
    """Measure the models named, or all of them, and write the page."""
    if peers and missing():
        raise click.UsageError(
            f"expected other tools to measure, found no {', '.join(missing())}: install them by "
            "`pip install -e '.[bench]'`, as `make bench` does, or leave them out by --no-peers"
        )
    rows = []
    with own_folder("bench") as folder:
        for name, kind, path in models(names, folder):
            settings = OptimizeSettings(threads=threads, budget=budget, force=True, dims=DIMS.get(name, {}))
            row = measure(name, kind, path, settings)
            rows.append(replace(row, standing=beside_peers(row, path, settings)) if peers else row)
            write(rows, output, threads, budget)
            if output == DOCUMENT:
                used = [found for found in map(usage, rows) if found.rules]
                rule_usage.write(used, rule_usage.DOCUMENT, rule_usage.DRAWING)
            print(*told(rows[-1]), sep="\n", file=sys.stderr, flush=True)
            path.with_name(f"{path.stem}.opt.onnx").unlink(missing_ok=True)
            path.unlink()


def measure(name: str, kind: str, path: Path, settings: OptimizeSettings) -> Row:
    """Optimize one model; an error becomes a row that says so."""
    started = time.monotonic()
    try:
        record = optimize_file(path, settings)
    except TasoError as error:
        return Row(name, kind, None, str(error), time.monotonic() - started)
    total_s = time.monotonic() - started
    again = once_more(record, path, settings)
    compared = CompareSettings(threads=settings.threads, dims=settings.bindings[0])
    if record.speedup is None and record.output is not None:
        found = comparison(record, compared)
        if found is not None:
            record = replace(record, speedup=found.speedup, max_rel_error=found.max_rel_error)
    row = Row(name, kind, record, "", total_s, again=again)
    if not is_improved(row) or settings.threads == BESIDE:
        return row
    beside = comparison(record, replace(compared, threads=BESIDE))
    return replace(row, beside=None if beside is None else beside.speedup)


def once_more(record: Record, path: Path, settings: OptimizeSettings) -> str:
    """How many seconds a second run takes with what the first one left in the table, and what differs by it."""
    assert record.output is not None, "a dry run has no output"
    second, started = path.with_name(f"{path.stem}.again.onnx"), time.monotonic()
    try:
        again = optimize_file(path, replace(settings, output=second))
    except TasoError as error:
        return f"error: {error}"
    total_s = time.monotonic() - started
    same = again.output is not None and Path(again.output).read_bytes() == Path(record.output).read_bytes()
    second.unlink(missing_ok=True)
    return f"{total_s:.0f}" if same else f"{total_s:.0f}, another file"


def beside_peers(row: Row, path: Path, settings: OptimizeSettings) -> standings.Standing | None:
    """How the result does beside those of other tools, all timed in turns; None where the model cannot be timed."""
    ours = None if row.record is None or row.record.output is None else Path(row.record.output)
    try:
        return side_by_side(path, ours, RunSettings("cpu", settings.threads), settings.bindings[0])
    except TasoError as error:
        print(f"{row.name}: not timed beside other tools, {error}", file=sys.stderr)
        return None


def usage(row: Row) -> rule_usage.Usage:
    """The rules of the rewriting that was written, none where none was."""
    rules = row.record.rules if row.record is not None and is_improved(row) else ()
    return rule_usage.Usage(row.name, {rule.id: (rule.count, rule.text) for rule in rules})


def comparison(record: Record, settings: CompareSettings) -> Comparison | None:
    """The output measured against the input, whatever was measured before; None where they cannot be timed."""
    assert record.output is not None, "a dry run has no output"
    try:
        return compare_files(record.input, record.output, settings)
    except TasoError as error:
        print(f"{record.input}: not timed, {error}", file=sys.stderr)
        return None


IN_DETAIL = (
    "## Model by model",
    "",
    "Each row is one `tasoopt optimize` run with the shipped rules and default options, and its own measurement of the "
    "result. Where the answer is *unchanged* the row shows the best candidate that was measured or, where none was "
    "worth measuring, the output itself, which is the input byte for byte. What was optimized for one thread is "
    "compared once more at two threads, in wall time. Wall-time ratios are raw. The last column is of a second run, "
    "with the costs that the first one measured and what it found: it writes the same file, byte for byte, unless it "
    "says otherwise.",
    "",
)

HEADER = (
    "| model | kind | operators | answer | speed-up (95% interval) | A/A control | wall-time ratio "
    f"| at {BESIDE} threads | largest relative error | search s | of which measuring | total s | again s |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    record = row.record
    if record is None:
        return f"| {row.name} | {row.kind} | | error: {row.error} | | | | | | | | {row.total_s:.0f} | |"
    before, after = sum(record.operators_before.values()), sum(record.operators_after.values())
    control, wall, error = "", "", ""
    if record.speedup is not None:
        found = record.speedup
        control = f"{found.control:.3f} ({found.control_low:.3f} to {found.control_high:.3f})"
        wall, error = f"{found.wall_ratio:.3f}", f"{record.max_rel_error:.1e}"
    count = f"{before} to {after}" if record.result == "improved" else str(before)
    speedup, beside = ("" if one is None else one.with_interval for one in (record.speedup, row.beside))
    return (
        f"| {row.name} | {row.kind} | {count} | {record.result} | {speedup} | {control} | {wall} | {beside} | {error} "
        f"| {record.search.seconds:.1f} | {record.search.measuring_seconds:.1f} "
        f"| {row.total_s:.0f} | {row.again} |"
    )


def summary(rows: Sequence[Row]) -> str:
    """How many models became faster, in sentences, and by how much in the geometric mean."""
    gains = [row.record.speedup.ratio for row in rows if is_improved(row) and row.record and row.record.speedup]
    refused = sum(row.answer == ERROR for row in rows)
    unchanged = len(rows) - len(gains) - refused
    mean = f", by {geometric_mean(gains):.2f} in the geometric mean" if gains else ""
    errors = f" {refused} could not be optimized." if refused else ""
    return f"Of {len(rows)} models {len(gains)} became faster{mean}; {unchanged} came back unchanged.{errors}"


def is_improved(row: Row) -> bool:
    """Whether a rewriting was written."""
    return row.answer == "improved"


def told(row: Row) -> list[str]:
    """The rows of one model in the tables."""
    return [line(row), *([] if row.standing is None else [standings.line(row.name, row.standing)])]


def write(rows: Sequence[Row], output: Path, threads: int, budget: float | None) -> None:
    """Write the document."""
    runtime = next((row.record.runtime for row in rows if row.record is not None), {})
    lines = [
        f"Made by `make bench` at {threads} thread(s){'' if budget is None else f', search budget {budget:.0f} s'}, on "
        f"{platform.machine()} ({platform.processor() or 'processor unnamed'}), Python {platform.python_version()}, "
        f"{runtime.get('package')} {runtime.get('version')}. [Another machine](benchmarks-machines.md) gives other "
        "figures.",
        "",
        summary(rows),
        "",
        *standings.section({row.name: row.standing for row in rows if row.standing is not None}),
        *IN_DETAIL,
        HEADER,
        *map(line, rows),
    ]
    write_page(output, "Benchmarks", __doc__, lines)


if __name__ == "__main__":
    main()
