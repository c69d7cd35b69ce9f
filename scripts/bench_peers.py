"""Measures this tool and four others on the same models, in the same runs, and writes docs/benchmarks-peers.md.

Usage: python scripts/bench_peers.py [NAME ...] [--threads N] [--keep DIR] [--output FILE]

Each row is one measurement: the original under ONNX Runtime with all its own optimizations, the original again (the A/A
control), and what each tool made of it with its default options take turns in one process. Figures are speed-ups,
divided by the control's. A result whose outputs do not agree with the original's is called wrong and not timed.
"""

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import click

from bench_models import DIMS, models
from bench_page import table, write_page
from peers import PACKAGES, rewrite, versions
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.errors import TasoError
from taso_opt.onnx_io import read_model
from taso_opt.runtime import CompareLatency, Contestant, Ratio, RunSettings, RuntimeProcess, compare_latency
from taso_opt.search.agreement import agreement
from taso_opt.search.feeds import sample_feeds, timing_feeds
from taso_opt.spec import load_specs

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT, BUILD = ROOT / "docs" / "benchmarks-peers.md", ROOT / "build"
OURS = "tasoopt"
LIMIT_S = 40.0
"""For the measurement of one model with all results; a slow one gets fewer rounds in it."""

NEAR = 0.02
"""Figures that differ by less are called level."""


@dataclass(frozen=True)
class Figure:
    """One tool on one model: its speed-up with the 95% interval, or in a word why there is none."""

    ratio: float = 0.0
    low: float = 0.0
    high: float = 0.0
    why: str = ""

    def __str__(self) -> str:
        return self.why or f"{self.ratio:.3f}"


@dataclass(frozen=True)
class Row:
    """One model: the control's interval and a figure for each tool; `answer` and `rules` (id to text) are ours."""

    name: str
    kind: str
    answer: str
    control: Figure
    figures: Mapping[str, Figure] = field(default_factory=dict)
    rules: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """The factor beyond which a figure is more than noise: that of the control, 1.02 at least."""
        return max(self.control.high, 1 / self.control.low, 1 + NEAR)

    @property
    def best_peer(self) -> str:
        """The other tool that is fastest; empty where none can be measured."""
        measured = {tool: figure for tool, figure in self.figures.items() if tool != OURS and not figure.why}
        return max(measured, key=lambda tool: measured[tool].ratio, default="")

    @property
    def standing(self) -> str:
        """Whether we are ahead of the best of the others, level with it, or behind it."""
        ours, best = self.figures.get(OURS, Figure(why="missing")), self.figures.get(self.best_peer, Figure(1.0))
        if ours.why:
            return "behind"
        near = 1 / self.noise < ours.ratio / best.ratio < self.noise
        if near or (ours.low <= best.high and best.low <= ours.high):
            return "level"
        return "ahead" if ours.ratio > best.ratio else "behind"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--threads", default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="Keep all originals and results in this folder.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], threads: int, keep: Path | None, output: Path) -> None:
    """Measure the models named, or all of them, and write the table; the figures go to the folder build as JSON too."""
    missing = set(PACKAGES) - set(versions())
    if missing:
        raise click.UsageError(f"expected the tools of tasoopt[bench], found no {', '.join(sorted(missing))}")
    rows = []
    with TemporaryDirectory(prefix="tasoopt-peers-") as name:
        for model, kind, path in models(names, Path(name)):
            rows.append(measure(model, kind, path, threads, Path(name)))
            write(rows, output, threads)
            print(line(rows[-1]), file=sys.stderr, flush=True)
            for file in Path(name).glob(f"{model}.*"):
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    copyfile(file, keep / file.name)
                file.unlink()


def measure(name: str, kind: str, path: Path, threads: int, folder: Path) -> Row:
    """Let every tool rewrite one model, then compare and time all results together."""
    candidates, figures, rules, answer = {}, {}, {}, "error"
    settings = OptimizeSettings(threads=threads, force=True, dims=DIMS.get(name, {}))
    try:
        record = optimize_file(path, settings)
        candidates[OURS], answer = path.with_name(f"{path.stem}.opt.onnx"), record.result
        rules = {rule.id: (rule.count, rule.text) for rule in record.rules}
    except TasoError as error:
        figures[OURS] = Figure(why=f"error: {error}")
    for tool in PACKAGES:
        attempt = rewrite(tool, path, folder)
        if attempt.path is None:
            figures[tool] = Figure(why="fails")
            print(f"{name}: {tool}: {attempt.failure}", file=sys.stderr)
        else:
            candidates[tool] = attempt.path
    timed = compared(path, candidates, RunSettings("cpu", threads), settings.bindings[0])
    control = timed.pop("")
    return Row(name, kind, answer, control, {**figures, **timed}, rules)


def compared(
    original: Path, candidates: Mapping[str, Path], run: RunSettings, dims: Mapping[str, int]
) -> dict[str, Figure]:
    """A figure for each candidate, and for the control under the empty name, from one interleaved measurement."""
    model = read_model(original, load_specs(), dims)
    feeds, timing = sample_feeds(model.inputs, (), run.seed), timing_feeds(model.inputs, (), run.seed)
    figures, agreeing = {}, {}
    with RuntimeProcess() as process:
        for tool, path in candidates.items():
            found = agreement(process, original, path, feeds, run)
            if found.failure or found.reasons:
                figures[tool] = Figure(why="does not run" if found.failure else "wrong")
                print(f"{original.name}: {tool}: {found.failure or found.reasons[0]}", file=sys.stderr)
            else:
                agreeing[tool] = path
        latency = compare_latency(
            process, CompareLatency(original, tuple(agreeing.values()), timing, run, time_limit_s=LIMIT_S)
        )
    for tool, contestant in zip(agreeing, latency.candidates, strict=True):
        if isinstance(contestant, Contestant):
            figures[tool] = _figure(latency.speedup(contestant))
        else:
            figures[tool] = Figure(why="fails")
    figures[""] = _figure(latency.ratio(latency.control))
    return figures


def _figure(found: Ratio) -> Figure:
    return Figure(found.value, found.low, found.high)


def line(row: Row) -> str:
    """One row of the table in Markdown, the fastest results in bold."""
    best = max((figure.ratio for figure in row.figures.values() if figure.low > 1), default=0.0)
    cells = []
    for tool in (OURS, *PACKAGES):
        figure = row.figures.get(tool, Figure(why="missing"))
        text = str(figure) if not figure.why.startswith("error") else "error"
        cells.append(f"**{text}**" if not figure.why and figure.ratio > best - NEAR and best > row.noise else text)
    control = f"{row.control.low:.3f} to {row.control.high:.3f}"
    return f"| {row.name} | {row.kind} | {' | '.join(cells)} | {control} | {row.standing} |"


def summary(rows: Sequence[Row]) -> list[str]:
    """How often each tool gains and loses by more than the noise, how often it is wrong, and its mean."""
    columns = ("tool", "faster", "slower", "wrong, fails or does not run", "geometric mean")
    lines = table(columns, ())
    for tool in (OURS, *PACKAGES):
        figures = [(row.figures[tool], row.noise) for row in rows if tool in row.figures]
        measured = [(figure, noise) for figure, noise in figures if not figure.why]
        faster = sum(figure.low > 1 and figure.ratio > noise for figure, noise in measured)
        slower = sum(figure.high < 1 and figure.ratio * noise < 1 for figure, noise in measured)
        mean = statistics.geometric_mean([figure.ratio for figure, _ in measured] or [1.0])
        lines.append(f"| {tool} | {faster} | {slower} | {len(figures) - len(measured)} | {mean:.3f} |")
    return lines


def write(rows: Sequence[Row], output: Path, threads: int) -> None:
    """Write the page, and the figures as JSON to the folder of what is built."""
    used = ", ".join(f"{PACKAGES[tool]} {number}" for tool, number in versions().items())
    lines = [
        f"Made by `make bench-peers` at {threads} thread(s) with {used}; the column *transformers* is the transformer "
        "optimizer that comes with ONNX Runtime. Bold is the fastest and what is within 2% of it, where it gains more "
        "than the noise. *Ahead* and *behind* compare us with the best of the others; *level* is within the noise of "
        "the control, 2% at least, or within the 95% intervals. The mean is over the results that are right.",
        "",
        *summary(rows),
        "",
        f"| model | kind | {' | '.join((OURS, *PACKAGES))} | A/A control | we are |",
        "|---|---|" + "---|" * (len(PACKAGES) + 3),
        *map(line, rows),
    ]
    write_page(output, "Benchmarks against other tools", __doc__, lines)
    BUILD.mkdir(exist_ok=True)
    (BUILD / f"{output.stem}.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
