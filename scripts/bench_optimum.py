"""Measures how far the search stays from the optimum on small networks; writes docs/benchmarks-optimum.md.

Usage: python scripts/bench_optimum.py [NAME ...] [--graphs N] [--output FILE]

The search by cost looks at a small part of the graphs that the rules reach. Here, on structures cut out of the
benchmark networks that are small enough, others are visited without choice: breadth-first, by single steps of the same
rewriter with the same rules, without a bound on how much worse than the best a graph may be, without joint moves and
without a queue by cost; and each is priced by the same cost model with the same measured kernels. The cheapest of them
is the optimum over these rules and these costs, and the gap is by how much more the graph costs that the search with
its default options finds.

Most rule sets lead to graphs without end, since operators can be added that change nothing. So the visit is widened:
first to all graphs that are reached through graphs of no more operators than the original (operators on weights
counted, though these cost nothing), then of one operator more, and so on, until no step leads further ("all") or there
are too many graphs. The column "all up to" says to how many operators more than the original all graphs were visited;
the graphs of the visit that was cut off count as well, and as many around the search's result, the nearest first.
Graphs that multiply more than four times as much as the original are visited but not priced.

Every kernel is measured once, and all searches see the same costs. The search calls costs equal that differ by less
than measurements tell apart (2% of what a step changes, 0.2% of the whole), so that a gap of less than that is no miss.

The last column tells what hangs on costs being what they are here: each network is searched and visited, with fewer
graphs, under costs where every kernel takes a factor between 0.8 and 1.25 of its own, drawn at random, times what was
measured; and under how many of these draws the search stays 2% or more behind the best graph visited.
"""

import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import click
import onnx

from benchmarks.disturbed import DisturbedMeasurer
from benchmarks.exhaustive import Outputs, Visited, Visitor, cheapest, described
from benchmarks.own_folder import own_folder
from benchmarks.page import table, table_row, write_page
from networks.small import SMALL
from taso_opt.api.session import usable_rules
from taso_opt.core.rule import FpClass
from taso_opt.core.term import operator_count
from taso_opt.cost import CostModel, CostTable, Measurer
from taso_opt.cost.measuring.surroundings import Surroundings
from taso_opt.onnx_io import Model, read_model, spellable
from taso_opt.rewrite.steps import Rewriter
from taso_opt.runtime import RunSettings, RuntimeProcess, probe
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import Plan, SearchLimits
from taso_opt.search.prices import MOST_WORK, WORTH_MEASURING
from taso_opt.spec import load_specs

T = TypeVar("T")
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-optimum.md"
DEFAULT_ALPHA, ALPHAS = 1.05, (1.0, 1.05, 1.1)
MISSED = 0.002
"""Gaps from which on the page tells how the optimum is reached."""

DRAWS, GRAPHS_OF_A_DRAW, BEHIND = 5, 250, 0.02
"""How many draws of other costs a network is searched under, graphs of a visit there, and gaps that count."""

COLUMNS = (
    "network",
    "operators",
    "graphs",
    "all up to",
    "original us",
    "search us",
    "optimum us",
    "gap",
    "gap, alpha 1.0",
    "gap, alpha 1.1",
    "search s, cold",
    "search s, warm",
    "visit s",
    "behind, costs drawn",
)


@dataclass(frozen=True)
class Row:
    """One network: costs in seconds of the original, of what the search finds by alpha, and of the best graph visited.

    All graphs were visited of so many operators more than the original, for None without such a bound, for -1 not even
    those of as many.
    `steps` lead to that graph, one line each; `started_at_result` says that they start at what the search found.
    `drawn_gaps` are the gaps under costs that were drawn.
    """

    name: str
    operators: int
    graphs: int
    all_up_to: int | None
    original: float
    found: dict[float, float]
    optimum: float
    steps: tuple[str, ...]
    started_at_result: bool
    cold_s: float
    warm_s: float
    visit_s: float
    drawn_gaps: tuple[float, ...] = ()

    def gap(self, alpha: float = DEFAULT_ALPHA) -> float:
        """By which share of the optimum the search's result costs more."""
        return self.found[alpha] / self.optimum - 1


@dataclass(frozen=True)
class Space:
    """What a search takes beside its options."""

    model: Model
    rewriter: Rewriter
    cost: CostModel

    def search(self, alpha: float) -> Plan:
        """The best plan of the search, set up as `tasoopt optimize` does."""
        admissible = spellable(self.model)
        finder = BacktrackingSearch(self.model.builder, self.rewriter, self.cost, admissible, alpha, SearchLimits())
        return finder.run(self.model.graph.outputs).plans[0]

    def visitor(self, graphs: int) -> Visitor:
        """What visits at most so many graphs at a time."""
        return Visitor(self.model.builder, self.rewriter, spellable(self.model), graphs)

    def work(self, outputs: Outputs) -> int:
        """The multiplications of a graph."""
        return sum(self.cost.work(unit) for unit in self.cost.units(outputs))


@click.command()
@click.argument("names", nargs=-1)
@click.option("--graphs", default=20_000, show_default=True, help="The most graphs of one visit.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
def main(names: Sequence[str], graphs: int, output: Path) -> None:
    """Search and visit the networks named, or all of them, and write the page."""
    unknown = set(names) - set(SMALL)
    if unknown:
        raise click.UsageError(f"expected names among {', '.join(SMALL)}, found {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    with own_folder("optimum") as folder, CostTable() as table, RuntimeProcess() as process:
        for name in names or SMALL:
            path = folder / f"{name}.onnx"
            onnx.save(SMALL[name](), path)
            row = measure(name, space(path, table, process), graphs)
            rows.append(replace(row, drawn_gaps=drawn_gaps(path, process)))
            print("\n".join((line(rows[-1]), *missed(rows[-1]))), file=sys.stderr, flush=True)
            write(rows, output, graphs)


def space(path: Path, table: CostTable, process: RuntimeProcess, draw: int | None = None) -> Space:
    """The model of a file with the shipped rules and costs that are measured when they are asked for, or drawn."""
    model = read_model(path, load_specs(), {})
    builder = load_specs().builder(model.bindings)
    of_model = process, RunSettings(), probe(process), Surroundings.of_model(model, builder)
    measurer = Measurer(*of_model) if draw is None else DisturbedMeasurer(draw, *of_model)
    cost = CostModel.of_model(model, builder, table, measurer)
    return Space(model, Rewriter.of_model(model, usable_rules(None, FpClass.E3)), cost)


def measure(name: str, here: Space, graphs: int) -> Row:
    """Search with costs not yet known, then with costs that are known, and visit all graphs."""
    original = here.model.graph.outputs
    _, cold_s = timed(lambda: here.search(DEFAULT_ALPHA))
    searched = {alpha: timed(partial(here.search, alpha)) for alpha in ALPHAS}
    results = {alpha: plan.outputs for alpha, (plan, _) in searched.items()}
    (best, visits, more), visit_s = timed(lambda: visited(here, results, graphs))
    reached = next(one for one in visits if best in one.origins)
    return Row(
        name,
        operator_count(original),
        len({graph for one in visits for graph in one.origins}),
        more,
        here.cost.cost(original),
        {alpha: here.cost.cost(outputs) for alpha, outputs in results.items()},
        here.cost.cost(best),
        tuple(described(reached.path(best))),
        original not in reached.origins,
        cold_s,
        searched[DEFAULT_ALPHA][1],
        visit_s,
    )


def drawn_gaps(path: Path, process: RuntimeProcess) -> tuple[float, ...]:
    """The gaps of the search on the model of a file under costs that are drawn."""
    gaps = []
    for draw in range(DRAWS):
        with TemporaryDirectory(prefix="tasoopt-drawn-") as folder, CostTable(Path(folder) / "costs.sqlite") as table:
            here = space(path, table, process, draw)
            found = here.search(DEFAULT_ALPHA).outputs
            best, _, _ = visited(here, {DEFAULT_ALPHA: found}, GRAPHS_OF_A_DRAW)
            gaps.append(here.cost.cost(found) / here.cost.cost(best) - 1)
    return tuple(gaps)


def visited(here: Space, results: Mapping[float, Outputs], graphs: int) -> tuple[Outputs, list[Visited], int | None]:
    """The cheapest graph of all visits, these visits, and to how many operators more they are all; see the page.

    `results` are what searches found by their alpha, from the default one of which a last visit starts where the others
    are cut off. The number is None where the visits from the original have everything.
    """
    original, visitor = here.model.graph.outputs, here.visitor(graphs)
    visits, more = visitor.widening(original)
    everything = visits[-1].everything
    if not everything:
        visits.append(visitor.visit(results[DEFAULT_ALPHA], operator_count(original) + more + 1))
    joint = set(results.values()) - {graph for one in visits for graph in one.origins}  # of moves of many steps at once
    visits += [Visited({graph: None}, exhausted=True, everything=False) for graph in joint]
    most = MOST_WORK * here.work(original) + WORTH_MEASURING
    reached = dict.fromkeys((*results.values(), *(graph for one in visits for graph in one.origins)))
    worth = [graph for graph in reached if here.work(graph) <= most]
    return cheapest(here.cost, worth, original), visits, None if everything else more


def timed(run: Callable[[], T]) -> tuple[T, float]:
    """What a function gives, and the seconds that it takes."""
    started = time.monotonic()
    return run(), time.monotonic() - started


def line(row: Row) -> str:
    """One row of the table in Markdown."""
    cells = (
        row.name,
        str(row.operators),
        str(row.graphs),
        "all" if row.all_up_to is None else "none" if row.all_up_to < 0 else f"+{row.all_up_to}",
        *(f"{seconds * 1e6:.1f}" for seconds in (row.original, row.found[DEFAULT_ALPHA], row.optimum)),
        *(f"{row.gap(alpha):.1%}" for alpha in (DEFAULT_ALPHA, 1.0, 1.1)),
        *(f"{seconds:.1f}" for seconds in (row.cold_s, row.warm_s, row.visit_s)),
        f"{sum(gap >= BEHIND for gap in row.drawn_gaps)} of {len(row.drawn_gaps)}",
    )
    return table_row(cells)


def missed(row: Row) -> list[str]:
    """How the optimum is reached where the search does not reach it, a list in Markdown."""
    if row.gap() < MISSED:
        return []
    start = "what the search found" if row.started_at_result else "the original"
    return [f"`{row.name}`, {row.gap():.1%}, from {start}:", "", *(f"1. `{step}`" for step in row.steps), ""]


def write(rows: Sequence[Row], output: Path, graphs: int) -> None:
    """Write the page."""
    hits = sum(row.gap() < MISSED for row in rows)
    told = [text for row in rows for text in missed(row)]
    lines = [
        f"Made by `make bench-optimum` on {platform.machine()}, Python {platform.python_version()}, with at most "
        f"{graphs} graphs a visit. On {hits} networks of {len(rows)} the search finds the best graph that was visited, "
        "or one as good.",
        "",
        *table(COLUMNS, map(line, rows)),
        "",
        "## What the search misses",
        "",
        "The steps that lead to the optimum where the search stays behind it: the rule's id, and what is replaced.",
        "",
        *(told[:-1] or ["Nothing."]),
    ]
    write_page(output, "How far the search stays from the optimum", __doc__, lines)


if __name__ == "__main__":
    main()
