"""Compares, in OpenVINO, what is optimized for ONNX Runtime with what is optimized for it; writes a page.

Usage: python scripts/bench_openvino.py [NAME...] [--output FILE]

Each network and model of the benchmarks is optimized twice with the default options, once as it is and once with
`--runtime openvino`. Both results are then timed in OpenVINO, in turns with the original, as `tasoopt compare`
does it with `--runtime openvino`: at one thread, in float32, with the original against itself as the control. Figures
are speed-ups with their 95% intervals.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten

import click

from benchmarks.models import DIMS, models
from benchmarks.own_folder import own_folder
from benchmarks.page import write_page
from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.errors import TasoError
from taso_opt.report.record import Comparison
from taso_opt.runtime import ONNXRUNTIME, OPENVINO

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-openvino.md"
UNCHANGED = "unchanged"

Outcome = Comparison | str
"""How a result compares with the original; a word where there is nothing to compare or something fails."""


@dataclass(frozen=True)
class Row:
    """One model: what became of it when it was optimized for ONNX Runtime and when it was for OpenVINO."""

    name: str
    for_onnxruntime: Outcome
    for_openvino: Outcome


@click.command()
@click.argument("names", nargs=-1)
@click.option("--budget", default=60.0, show_default=True, help="Seconds for each search.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], budget: float, output: Path) -> None:
    """Measure the models named, or all of them, and write the page."""
    rows: list[Row] = []
    with own_folder("openvino") as folder:
        for name, _, path in models(names, folder):
            rows.append(Row(name, *(measure(name, path, runtime, budget) for runtime in (ONNXRUNTIME, OPENVINO))))
            print(line(rows[-1]), file=sys.stderr, flush=True)
            write(rows, output)


def measure(name: str, path: Path, runtime: str, budget: float) -> Outcome:
    """Optimize a model for a runtime, and time the result in OpenVINO."""
    result, dims = path.with_suffix(f".{runtime}.onnx"), DIMS.get(name, {})
    try:
        settings = OptimizeSettings(output=result, force=True, budget=budget, dims=dims, runtime=runtime)
        if optimize_file(path, settings).result == UNCHANGED:
            return UNCHANGED
        return compare_files(path, result, CompareSettings(dims=dims, runtime=OPENVINO))
    except TasoError as error:
        return shorten(str(error).replace("|", "/"), 100, placeholder=" …")
    finally:
        result.unlink(missing_ok=True)


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    found = row.for_onnxruntime, row.for_openvino
    times = [f"{one.latency_first.median_ms:.3f}" for one in found if isinstance(one, Comparison)]
    return f"| {row.name} | {times[0] if times else ''} | {cell(found[0])} | {cell(found[1])} |"


def cell(found: Outcome) -> str:
    """A speed-up with its interval, or a word."""
    return found if isinstance(found, str) else found.speedup.with_interval


def counts(found: Sequence[Outcome]) -> str:
    """How many results are faster and slower than the original by more than the noise."""
    compared = [one for one in found if isinstance(one, Comparison)]
    faster, slower = (sum(one.faster == which for one in compared) for which in ("second", "first"))
    return f"{len(compared)} were rewritten, {faster} of them are faster in OpenVINO and {slower} slower"


def write(rows: Sequence[Row], output: Path) -> None:
    """Write the page."""
    lines = [
        f"Made by `make bench-openvino` with openvino {version('openvino')} and onnxruntime {version('onnxruntime')}. "
        f"Of {len(rows)} models that were optimized for ONNX Runtime, {counts([row.for_onnxruntime for row in rows])} "
        f"by more than the noise. Of the same models optimized for OpenVINO, "
        f"{counts([row.for_openvino for row in rows])}.",
        "",
        "| model | original ms | optimized for ONNX Runtime | optimized for OpenVINO |",
        "|---|---|---|---|",
        *map(line, rows),
    ]
    write_page(output, "In OpenVINO", __doc__, lines)


if __name__ == "__main__":
    main()
