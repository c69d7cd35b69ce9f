"""Runs optimized models in OpenVINO, a runtime that they were not optimized for; writes docs/benchmarks-openvino.md.

Usage: python scripts/bench_openvino.py [FOLDER] [--output FILE]

FOLDER has pairs NAME.onnx and NAME.opt.onnx, as `bench_peers.py --keep FOLDER` leaves them; without one, the networks
and models are optimized now, for ONNX Runtime, with the default options. Both files and the original again (the A/A
control) are compiled by OpenVINO for one thread in float32 and take turns. Times are CPU times of the process, since
OpenVINO computes in threads of its own. Figures are speed-ups, divided by the control's.
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from bench import DIMS, models
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.errors import TasoError
from taso_opt.onnx_io import read_model
from taso_opt.search.feeds import timing_feeds
from taso_opt.spec import load_specs

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-openvino.md"
ROUNDS, SAMPLE_S, MODEL_S, LIMIT_S = 20, 5e-3, 10.0, 180.0
FEEDS = 8
CONFIGURATION = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}


@dataclass(frozen=True)
class Measured:
    """One model in OpenVINO: milliseconds of the original, the ratios of control and result, the largest difference."""

    original_ms: float
    control: float
    ratio: float
    difference: float


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
@click.option("--one", nargs=2, type=click.Path(exists=True, path_type=Path), hidden=True, help="Measure a pair here.")
def main(folder: Path | None, output: Path, one: tuple[Path, Path] | None) -> None:
    """Measure all pairs and write the page."""
    if one is not None:
        print(json.dumps(asdict(measure(*one))))
        return
    rows, same = list[tuple[str, Measured | str]](), list[str]()
    for name, original, optimized in optimized_now() if folder is None else pairs(folder):
        if original.read_bytes() == optimized.read_bytes():
            same.append(name)
        else:
            rows.append((name, in_child(original, optimized)))
            print(line(*rows[-1]), file=sys.stderr, flush=True)
        write(rows, same, output)


def pairs(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """The pairs of a folder, by name."""
    for optimized in sorted(folder.glob("*.opt.onnx")):
        name = optimized.name.removesuffix(".opt.onnx")
        if (folder / f"{name}.onnx").is_file():
            yield name, folder / f"{name}.onnx", optimized


def optimized_now() -> Iterator[tuple[str, Path, Path]]:
    """Each network and model with what the tool makes of it."""
    with TemporaryDirectory(prefix="tasoopt-openvino-") as folder:
        for name, _, path in models((), Path(folder)):
            try:
                record = optimize_file(path, OptimizeSettings(force=True, dims=DIMS.get(name, {})))
            except TasoError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            assert record.output is not None, "what is no dry run has an output"
            yield name, path, Path(record.output)


def in_child(original: Path, optimized: Path) -> Measured | str:
    """Measure a pair in a process of its own; a line where that fails."""
    command = [sys.executable, __file__, "--one", str(original), str(optimized)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {LIMIT_S:.0f} s"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:100].replace("|", "/")
    return Measured(**json.loads(done.stdout))


def measure(original: Path, optimized: Path) -> Measured:
    """Compile and time a pair and the control in this process."""
    core = import_module("openvino").Core()
    read = read_model(original, load_specs(), DIMS.get(original.stem, {}))
    feeds = timing_feeds(read.inputs, (), 0)[:FEEDS]
    runs = [runner(core, path, feeds) for path in (original, original, optimized)]
    first, _, last = (run(0) for run in runs)
    difference = max(_difference(one, other) for one, other in zip(first, last, strict=True))
    times = interleaved(runs)
    medians = [statistics.median(samples) for samples in times]
    control, ratio = (
        statistics.median(a / b for a, b in zip(times[0], other, strict=True)) for other in (times[1], times[2])
    )
    return Measured(medians[0] * 1e3, control, ratio / control, difference)


def runner(core: Any, path: Path, feeds: Sequence[Mapping[str, Any]]) -> Callable[[int], list[Any]]:
    """A function that runs a compiled model on one of the feeds and gives its outputs."""
    request = core.compile_model(str(path), "CPU", CONFIGURATION).create_infer_request()

    def run(number: int) -> list[Any]:
        found = request.infer(dict(feeds[number % len(feeds)]))
        return [np.array(value) for value in found.values()]

    return run


def interleaved(runs: Sequence[Callable[[int], object]]) -> list[list[float]]:
    """Seconds of CPU time of one run of each, in rounds of random order."""
    repeats, order = max(1, round(SAMPLE_S / max(_timed(runs[0], 1), 1e-6))), random.Random(0)
    times: list[list[float]] = [[] for _ in runs]
    end = time.monotonic() + MODEL_S
    while len(times[0]) < 3 or (len(times[0]) < ROUNDS and time.monotonic() < end):
        for place in order.sample(range(len(runs)), len(runs)):
            times[place].append(_timed(runs[place], repeats))
    return times


def _timed(run: Callable[[int], object], repeats: int) -> float:
    started = time.process_time()
    for number in range(repeats):
        run(number)
    return (time.process_time() - started) / repeats


def _difference(first: Any, second: Any) -> float:
    """The largest difference as a share of the largest value."""
    if first.dtype.kind != "f":
        return float(not np.array_equal(first, second))
    return float(np.max(np.abs(first - second), initial=0.0) / max(float(np.max(np.abs(first), initial=0.0)), 1e-30))


def line(name: str, found: Measured | str) -> str:
    """One row of the table in Markdown."""
    if isinstance(found, str):
        return f"| {name} | | | | {found} |"
    return f"| {name} | {found.original_ms:.3f} | {found.control:.3f} | {found.ratio:.3f} | {found.difference:.1e} |"


def write(rows: Sequence[tuple[str, Measured | str]], same: Sequence[str], output: Path) -> None:
    """Write the page; `same` are the models that were not changed."""
    changed = [found for _, found in rows if isinstance(found, Measured)]
    faster, slower = sum(one.ratio > 1.02 for one in changed), sum(one.ratio < 0.98 for one in changed)
    text = [
        "# In another runtime",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        f"Made by `make bench-openvino` with openvino {version('openvino')}. Of {len(changed)} models that were "
        f"rewritten, {faster} are faster in OpenVINO by more than 2%, {slower} are slower by more than 2%: they "
        "were chosen by what they gain in ONNX Runtime. To choose by measurements in OpenVINO is not possible yet.",
        "",
        "| model | original ms | A/A control | speed-up of the result | largest difference |",
        "|---|---|---|---|---|",
        *(line(*row) for row in rows),
        "",
        f"Not changed, and so not measured: {', '.join(same) or 'none'}.",
        "",
    ]
    output.write_text("\n".join(text))


if __name__ == "__main__":
    main()
