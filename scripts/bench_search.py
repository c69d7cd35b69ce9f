"""Measures how the time and memory of a search grow with operators and with rules; writes docs/benchmarks-search.md.

Usage: python scripts/bench_search.py [--largest N] [--output FILE]

Each row is one process that searches with the default options, but a budget of ten minutes, so that work and not the
clock ends the search on a busy machine too, and stops before the finals (`--dry-run`): first with an empty table of
costs, then again with the table that the first search left. Memory is the peak of the process that searches,
without the runtime's beside it. The search's own CPU time is what other programs on the machine disturb
least. The networks are NasRNN, unrolled to more and more time steps; the shares of the rule library are drawn at
random, each one a part of the next.
"""

import json
import platform
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import onnx

from benchmarks.own_folder import own_folder
from benchmarks.page import table, table_row, write_page
from networks import NETWORKS
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.cost import CostTable

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks-search.md"
LIBRARY = ROOT / "rules" / "library.jsonl"
NETWORK, HIDDEN = "nasrnn", 64
STEPS = (5, 10, 20, 40, 65, 80)
SHARES = (0.1, 0.25, 0.5, 1.0)
STEPS_FOR_RULES = 20
LIMIT_S, BUDGET_S = 1800.0, 600.0


@dataclass(frozen=True)
class Task:
    """One search: how many time steps the network has, and which share of the rules is used."""

    steps: int
    share: float = 1.0


@dataclass(frozen=True)
class Measured:
    """What one search took: seconds of the search and in all, cold and warm, and peak memory in MB."""

    task: Task
    operators: int
    rules: int
    cold_search_s: float
    cold_total_s: float
    warm_search_s: float
    warm_total_s: float
    warm_cpu_s: float
    explored: int
    expanded: int
    stopped_by: str
    predicted: float
    memory_mb: float


@click.command()
@click.option("--largest", default=max(STEPS), show_default=True, help="The most time steps.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCUMENT, show_default=True)
@click.option("--one", nargs=2, type=(int, float), hidden=True, help="Measure STEPS SHARE in this process, print JSON.")
def main(largest: int, output: Path, one: tuple[int, float] | None) -> None:
    """Measure all searches and write the page."""
    if one is not None:
        print(json.dumps(asdict(measure(Task(*one)))))
        return
    by_operators: list[Measured | str] = []
    by_rules: list[Measured | str] = []
    for task in (Task(steps) for steps in STEPS if steps <= largest):
        by_operators.append(in_child(task))
        write(by_operators, by_rules, output)
        print(by_operators[-1], file=sys.stderr, flush=True)
    for task in (Task(min(STEPS_FOR_RULES, largest), share) for share in SHARES):
        by_rules.append(in_child(task))
        write(by_operators, by_rules, output)
        print(by_rules[-1], file=sys.stderr, flush=True)


def in_child(task: Task) -> Measured | str:
    """Measure in a process of its own, whose peak memory is that of this search alone; a sentence where that fails."""
    command = [sys.executable, __file__, "--one", str(task.steps), str(task.share)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        return f"{task.steps} steps, {task.share:.0%} of the rules: {type(error).__name__}"
    fields = json.loads(done.stdout)
    return Measured(**{**fields, "task": Task(**fields["task"])})


def measure(task: Task) -> Measured:
    """Search twice, with an empty table of costs and with the one that is left then."""
    with own_folder("search") as folder:
        path, rules = folder / "model.onnx", folder / "rules.jsonl"
        model = NETWORKS[NETWORK](steps=task.steps, hidden=HIDDEN)
        onnx.save(model, path)
        lines = share_of(task.share)
        rules.write_text("".join(lines))
        settings = OptimizeSettings(rules=rules, dry_run=True, budget=BUDGET_S)
        cold = optimize_file(path, settings)
        with CostTable() as table:
            table.forget_searches()
        started = time.process_time()
        warm, cpu_s = optimize_file(path, settings), time.process_time() - started
    return Measured(
        task,
        len(model.graph.node),
        len(lines),
        cold.search.seconds,
        cold.seconds,
        warm.search.seconds,
        warm.seconds,
        cpu_s,
        warm.search.explored,
        warm.search.expanded,
        warm.search.stopped_by,
        warm.search.predicted_before_ms / warm.search.predicted_after_ms,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def share_of(share: float) -> list[str]:
    """The lines of the rule library that are drawn for a share of it, in the order of the library."""
    lines = LIBRARY.read_text(encoding="utf-8").splitlines(keepends=True)
    order = list(range(len(lines)))
    random.Random(0).shuffle(order)
    return [lines[at] for at in sorted(order[: max(1, round(share * len(lines)))])]


COLUMNS = (
    "time steps",
    "operators",
    "rules",
    "search s, cold",
    "search s, warm",
    "in all s, cold",
    "in all s, warm",
    "of which own CPU s",
    "graphs seen",
    "expanded",
    "ended by",
    "predicted speed-up",
    "memory MB",
)


def line(found: Measured | str) -> str:
    """One row of a table in Markdown."""
    if isinstance(found, str):
        return f"| {found} |" + " |" * (len(COLUMNS) - 1)
    cells = (
        str(found.task.steps),
        str(found.operators),
        str(found.rules),
        f"{found.cold_search_s:.1f}",
        f"{found.warm_search_s:.1f}",
        f"{found.cold_total_s:.1f}",
        f"{found.warm_total_s:.1f}",
        f"{found.warm_cpu_s:.1f}",
        str(found.explored),
        str(found.expanded),
        found.stopped_by,
        f"{found.predicted:.2f}",
        f"{found.memory_mb:.0f}",
    )
    return table_row(cells)


def write(by_operators: Sequence[Measured | str], by_rules: Sequence[Measured | str], output: Path) -> None:
    """Write the page."""
    lines = [
        f"Made by `make bench-search` on {platform.machine()}, Python {platform.python_version()}.",
        "",
        "## With the number of operators",
        "",
        *table(COLUMNS, map(line, by_operators)),
        "",
        "## With the number of rules",
        "",
        *table(COLUMNS, map(line, by_rules)),
    ]
    write_page(output, "How a search grows", __doc__, lines)


if __name__ == "__main__":
    main()
