"""Compares predicted with measured latencies of networks and of random rewrites; writes docs/benchmarks-cost.md.

Usage: python scripts/bench_cost.py [NAME ...] [--rewrites N] [--seconds S] [--device D] [--output FILE]

A prediction is the sum of the measured costs of the kernels that a graph consists of. For each network, the network and
random rewrites of it (one to twelve steps by rules of the library, whether they pay or not) are predicted, and timed
in turns under the runtime's own optimizations. The network is timed as it was read, written as its rewrites are: its
file may spell a product as an Einsum, which the runtime computes otherwise. The error is that of the predicted latency;
the rank correlation (Spearman) says whether the rewrites stand in the right order, which is what a search needs.
Rewrites of equal speed have no order: where all lie within the noise, the correlation says nothing and stands in
brackets.

Costs are stated for the speed that the machine had when their table was begun, as told by a canary (some kernels that
are timed beside all others). So are the measured times: the canary is timed before and after each batch of rewrites,
and each rewrite has the network's file beside it.
"""

import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np

from benchmarks.models import DIMS, models
from benchmarks.page import table, write_page
from networks import NETWORKS
from taso_opt.api.session import usable_rules
from taso_opt.core.graph import Graph
from taso_opt.core.rule import FpClass
from taso_opt.core.term import Apply, Term
from taso_opt.cost import CostModel, CostTable, Measurer, Unit
from taso_opt.errors import RuntimeFailure, TasoError
from taso_opt.onnx_io import Model, read_model, save_atomically, spellable, write_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.runtime import CompareLatency, Contestant, RunSettings, RuntimeProcess, compare_latency, probe
from taso_opt.search.judging.feeds import timing_feeds
from taso_opt.search.wander import wander
from taso_opt.spec import load_specs

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-cost.md"
AT_ONCE = 8
"""Rewrites that are timed together; each batch has a control of its own."""

MOST_STEPS = 12
COLUMNS = (
    "network",
    "predicted ms",
    "measured ms",
    "error",
    "rewrites",
    "median error",
    "beyond the network's",
    "rank correlation",
    "slowest / fastest",
    "noise",
)


@dataclass(frozen=True)
class Point:
    """One graph of a network: milliseconds as predicted and as measured, and the kernels that its rewriting added."""

    predicted_ms: float
    measured_ms: float
    added: tuple[str, ...]

    @property
    def error(self) -> float:
        """By how much the prediction is off, as a share of the measured time; positive when it is too high."""
        return self.predicted_ms / self.measured_ms - 1


@dataclass(frozen=True)
class Row:
    """One network: its points, the original first, and the noise of the measurement as a factor (>= 1)."""

    name: str
    points: tuple[Point, ...]
    noise: float

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation between prediction and measurement."""
        return rank_correlation([p.predicted_ms for p in self.points], [p.measured_ms for p in self.points])

    def beyond(self, point: Point) -> float:
        """The error of a rewrite beyond that of the original."""
        return (1 + point.error) / (1 + self.points[0].error) - 1

    @property
    def spread(self) -> float:
        """The slowest measured time divided by the fastest."""
        measured = [point.measured_ms for point in self.points]
        return max(measured) / min(measured)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's coefficient, equal values sharing their mean rank; 0 where one side is all equal or has one value."""
    ranks = [_ranks(np.asarray(values)) for values in (first, second)]
    deviations = [float(np.std(rank)) for rank in ranks]
    if len(first) < 2 or min(deviations) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--rewrites", default=50, show_default=True, help="Random rewrites of each network.")
@click.option("--seconds", default=60.0, show_default=True, help="How long to look for rewrites of one network.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], rewrites: int, seconds: float, device: str, output: Path) -> None:
    """Predict and measure the networks named, or all of them, and write the page."""
    rows: list[Row] = []
    with TemporaryDirectory(prefix="tasoopt-cost-") as folder, CostTable(Path(folder) / "costs.sqlite") as table:
        for name, _, path in models(names or tuple(NETWORKS), Path(folder)):
            try:
                rows.append(measure(name, path, rewrites, seconds, table, RunSettings(device)))
            except TasoError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            print(line(rows[-1]), file=sys.stderr, flush=True)
            write(rows, output, rewrites)
            path.unlink()


def measure(name: str, path: Path, rewrites: int, seconds: float, table: CostTable, run: RunSettings) -> Row:
    """Predict and time one network and random rewrites of it."""
    model = read_model(path, load_specs(), DIMS.get(name, {}))
    with RuntimeProcess() as process:
        builder = load_specs().builder(model.bindings)
        measurer = Measurer.of_model(process, run, probe(process), model, builder)
        cost = CostModel.of_model(model, builder, table, measurer)
        outputs = model.graph.outputs
        graphs = [outputs, *random_graphs(model, rewrites, seconds)]
        for graph in graphs:
            cost.cost(graph)
        files, ratios, noises = list[float](), list[float | None](), list[float]()
        for start in range(0, len(graphs), AT_ONCE):
            before = cost.slowness()
            file_ms, faster, noise = timed(process, run, model, graphs[start : start + AT_ONCE], path.parent)
            files.append(2 * file_ms / (before + cost.slowness()))
            ratios += faster
            noises.append(noise)
        if ratios[0] is None:
            raise RuntimeFailure(f"the network cannot be timed as it was read: {path}")
        file_ms = statistics.median(files)
        points = [
            Point(cost.cost(graph) * 1e3, file_ms / ratio, added(cost, outputs, graph))
            for graph, ratio in zip(graphs, ratios, strict=True)
            if ratio is not None
        ]
    return Row(name, tuple(points), statistics.median(noises))


def random_graphs(model: Model, count: int, seconds: float) -> Iterator[tuple[Term, ...]]:
    """Different graphs that random steps lead to, as many as asked for or as are found in time."""
    rewriter = Rewriter.of_model(model, usable_rules(None, FpClass.E3))
    admissible, seen, started = spellable(model), {model.graph.outputs}, time.monotonic()
    for seed in range(4 * count):
        if len(seen) > count or time.monotonic() - started > seconds:
            return
        steps = 1 + seed % MOST_STEPS
        walk = wander(model.builder, rewriter, model.graph.outputs, admissible, seed=seed, steps=steps)
        if walk.outputs not in seen:
            seen.add(walk.outputs)
            yield walk.outputs


def timed(
    process: RuntimeProcess, run: RunSettings, model: Model, graphs: Sequence[tuple[Term, ...]], folder: Path
) -> tuple[float, list[float | None], float]:
    """Milliseconds of the model's file, how many times as fast each graph is, and the noise of the measurement."""
    feeds = timing_feeds(model.inputs, (), run.seed)
    with TemporaryDirectory(dir=folder) as place:
        paths = [Path(place) / f"rewrite{number}.onnx" for number in range(len(graphs))]
        for graph, path in zip(graphs, paths, strict=True):
            proto = write_model(model, Graph(model.graph.inputs, graph))
            save_atomically(proto, path, original=model.path, durable=False)
        request = CompareLatency(model.path, tuple(paths), feeds, run, rounds=20, recreations=2, time_limit_s=20.0)
        found = compare_latency(process, request)
    ratios = [found.corrected(one) if isinstance(one, Contestant) else None for one in found.candidates]
    return found.timing(found.original).median_ms, ratios, found.noise


def added(cost: CostModel, before: Sequence[Term], after: Sequence[Term]) -> tuple[str, ...]:
    """The kernels that a rewritten graph has more than the original, by their operators."""
    more = Counter(unit.key for unit in cost.kernels(after)) - Counter(unit.key for unit in cost.kernels(before))
    names = {unit.key: kernel(unit) for unit in cost.kernels(after)}
    return tuple(sorted({names[key] for key in more}))


def kernel(unit: Unit) -> str:
    """The operators of a unit."""
    return " + ".join(sorted(member.operator for member in unit.members if isinstance(member, Apply)))


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    original, *rewrites = row.points
    errors = [abs(point.error) for point in rewrites]
    correlation = f"{row.correlation:.2f}" if row.spread > row.noise**2 else f"({row.correlation:.2f})"
    off = f"{statistics.median(errors):.0%}" if errors else ""
    beyond = f"{statistics.median(abs(row.beyond(point)) for point in rewrites):.1%}" if rewrites else ""
    return (
        f"| {row.name} | {original.predicted_ms:.3f} | {original.measured_ms:.3f} | {original.error:+.0%} "
        f"| {len(rewrites)} | {off} | {beyond} | {correlation} | {row.spread:.2f} | {row.noise:.3f} |"
    )


def worst_kernels(rows: Sequence[Row]) -> list[str]:
    """The kernels whose addition goes with the largest errors, relative to the error of the network's original."""
    errors: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for point in row.points[1:]:
            for name in point.added:
                errors[name].append(row.beyond(point))
    often = {name: found for name, found in errors.items() if len(found) >= 5}
    ranked = sorted(often, key=lambda name: -abs(statistics.median(often[name])))[:12]
    return [f"| {name} | {len(often[name])} | {statistics.median(often[name]):+.1%} |" for name in ranked]


def write(rows: Sequence[Row], output: Path, rewrites: int) -> None:
    """Write the page."""
    errors = [abs(point.error) for row in rows for point in row.points[1:]]
    scaled = [abs(row.beyond(point)) for row in rows for point in row.points[1:]]
    ordered = [row.correlation for row in rows if row.spread > row.noise**2]
    lines = [
        f"Made by `make bench-cost`, one thread, at most {rewrites} rewrites a network. Over all rewrites the median "
        f"error is {statistics.median(errors or [0.0]):.0%}, and {statistics.median(scaled or [0.0]):.1%} after the "
        "error of the network itself is taken out, which moves all its rewrites alike. The median rank correlation is "
        f"{statistics.median(ordered or [0.0]):.2f} over the {len(ordered)} networks whose rewrites differ by more "
        f"than the noise, and at least 0.9 on {sum(one >= 0.9 for one in ordered)} of them.",
        "",
        *table(COLUMNS, map(line, rows)),
        "",
        "## Where predictions go wrong",
        "",
        "By how much more than the original a rewrite is overestimated (+) or underestimated (-), for the kernels that "
        "it adds; the median over all rewrites that add the kernel, where there are at least five.",
        "",
        "| kernel added | rewrites | median error beyond the original's |",
        "|---|---|---|",
        *worst_kernels(rows),
    ]
    write_page(output, "Predicted and measured costs", __doc__, lines)


if __name__ == "__main__":
    main()
