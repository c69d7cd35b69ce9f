"""Measures the generator and writes docs/benchmarks-generate.md.

Usage: python scripts/bench_generate.py [ROW ...]

Each row is measured in a process of its own and kept in build/bench-generate.json; without names all rows are measured
anew. The page is made from all rows that are there, so that long ones can be measured one at a time.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from published.enumeration import Problem, equal_outputs, graphs
from taso_opt.core.machine.processors import cores
from taso_opt.core.term import Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate import GenerateSettings, Generation, generate
from taso_opt.generate.enumeration.candidates import claims
from taso_opt.generate.enumeration.enumerate import enumerate_terms
from taso_opt.generate.enumeration.families import EXTRA
from taso_opt.generate.enumeration.moves import shards
from taso_opt.spec import load_specs

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT, RESULTS = ROOT / "docs" / "benchmarks-generate.md", ROOT / "build" / "bench-generate.json"
GIB = 1 << 30
FAMILY = ("MatMul", "Add", "Mul", "Relu", "Concat", "Split")
Row = dict[str, Any]


def full(size: int) -> GenerateSettings:
    """The full set: all operators over all pools."""
    return GenerateSettings(max_ops=size, max_memory=6 * GIB)


def family(size: int) -> GenerateSettings:
    """Products, element-wise operators, joins and splits all at once over two data inputs and two weights."""
    return GenerateSettings(FAMILY, size, pools=("whole products",), max_memory=12 * GIB)


GENERATED: Mapping[str, GenerateSettings] = {
    **{f"full-{size}": full(size) for size in range(1, 5)},
    **{f"family-{size}": family(size) for size in range(2, 6)},
}
EXHAUSTIVE = {f"exhaustive-{size}": size for size in range(1, 4)}
ENUMERATED = {f"enumerated-{size}": size for size in range(1, 6)}


@click.command()
@click.argument("names", nargs=-1)
@click.option("--inside", is_flag=True, hidden=True, help="Measure one row in this process and print it.")
def main(names: tuple[str, ...], inside: bool) -> None:
    """Measure the rows named, or all of them, and write the page."""
    known = (*EXHAUSTIVE, *ENUMERATED, *GENERATED)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise click.UsageError(f"expected rows among {', '.join(known)}, found {', '.join(unknown)}")
    if inside:
        click.echo(json.dumps(measured(names[0])))
        return
    rows: dict[str, Row] = json.loads(RESULTS.read_text()) if names and RESULTS.exists() else {}
    for name in names or known:
        click.echo(f"{name} ...", err=True)
        command = [sys.executable, __file__, "--inside", name]
        rows[name] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(rows, indent=1))
        DOCUMENT.write_text("\n".join(page(rows)) + "\n", encoding="utf-8")


def measured(name: str) -> Row:
    """One row: what was found, and the time and memory that it took."""
    load_specs()
    start, before = time.perf_counter(), _cpu_seconds()
    row = _row(name)
    row["seconds"], row["cpu_seconds"] = time.perf_counter() - start, _cpu_seconds() - before
    # At most: the largest that one process ever was, for each of them. Units of ru_maxrss: KiB.
    own, others = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    settings = GENERATED.get(name)
    jobs = 1 if settings is None else settings.jobs or cores()
    row["peak_bytes"] = (own + (jobs * others if jobs > 1 else 0)) * 1024
    row["load"] = os.getloadavg()[0]
    return row


def _row(name: str) -> Row:
    if name in EXHAUSTIVE:
        return searched(EXHAUSTIVE[name])
    return enumerated(ENUMERATED[name]) if name in ENUMERATED else counted(GENERATED[name])


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def counted(settings: GenerateSettings) -> Row:
    """What a generation finds."""
    found: Generation = generate(load_specs(), settings)
    pools = found.stats.pools
    terms = [sum(pool.levels[size][0] for pool in pools if size < len(pool.levels)) for size in range(settings.max_ops)]
    return {"terms": terms, "equations": sum(pool.claims for pool in pools), "candidates": found.stats.candidates}


def enumerated(size: int) -> Row:
    """The terms of the products and which of them are equal, before any pruning."""
    operators = {name: load_specs().operators[name] for name in FAMILY}
    (pool,) = EXTRA
    (shard,) = shards(pool, operators)
    found = enumerate_terms(shard, operators, size, seed=0)
    equations = sum(1 for _ in claims(found, size))
    return {"terms": [level.terms for level in found.levels], "equations": equations, "candidates": 0}


def searched(size: int) -> Row:
    """What the exhaustive search of the paper's Algorithm 1 builds over the same variables, and finds equal."""
    variables = [Var(name, parse_scheme("m k" if name in "xy" else "k n")) for name in "xywv"]
    operators: list[tuple[str, dict[str, Any], int]] = [
        *((name, {}, 1 if name == "Relu" else 2) for name in ("MatMul", "Add", "Mul", "Relu")),
        *(("Concat", {"axis": axis}, 2) for axis in (-1, -2)),
        *(("Split", {"axis": axis, "sizes": ()}, 1) for axis in (-1, -2)),
    ]
    sizes = ({"m": 3, "k": 4, "n": 5}, {"m": 5, "k": 2, "n": 3})
    problem, builder = Problem(operators, variables, sizes, size), load_specs().builder()
    built = graphs(problem, builder)
    equations = sum(len(members) - 1 for members in equal_outputs(problem, builder, built))
    return {"terms": [len(built)], "equations": equations, "candidates": 0}


def page(rows: Mapping[str, Row]) -> Iterator[str]:
    """The page as lines of Markdown."""
    yield from TITLE.splitlines()
    machine = f"{cores()} cores, {platform.machine()}, Python {platform.python_version()}"
    yield ""
    yield f"Made by `make bench-generate` on {machine}. CPU time is that of all processes together. Where the load is"
    yield "above the number of cores, other programs had the machine, and the time is longer than it would be alone."
    yield from table("Full operator set", rows, ("full",), FULL)
    yield from table("Products, element-wise operators, joins and splits together", rows, ("family",), WHOLE)
    yield from table("Against the exhaustive search", rows, ("exhaustive", "enumerated"), AGAINST)
    yield from extrapolated(rows)


TITLE = """# Benchmarks of the generator

How long `tasoopt generate` takes, how that grows with the number of operators a side, and how it compares with the
exhaustive depth-first search of the paper's Algorithm 1, which the tests keep as an oracle.
"""
FULL = "All operators over all pools, 6 GiB at most. The target is 2 minutes for size 3 and 30 minutes for size 4."
WHOLE = f"""`--pools "whole products" --operators {",".join(FAMILY)}`: two data inputs, two weights, and
every operator meets every other; 12 GiB at most. The target is 30 minutes for size 5, which the paper's generator does
not reach."""
AGAINST = """The same operators and inputs in one process, up to the classes of equal terms and without any pruning. The
exhaustive search counts graphs, the generator terms, each of them once for all the graphs that have it."""
COLUMNS = ("row", "terms by level", "terms a CPU second", "equations", "candidates", "time, s", "CPU time, s",
           "memory, MiB", "load")  # fmt: skip


def table(title: str, rows: Mapping[str, Row], prefixes: tuple[str, ...], text: str) -> Iterator[str]:
    """One table with a title and a text, of the rows whose names begin so."""
    yield from ("", f"## {title}", "", text, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|")
    for name, row in sorted(rows.items()):
        if name.startswith(prefixes):
            total = sum(row["terms"])
            cells = [
                name,
                ", ".join(f"{terms:,}" for terms in row["terms"]),
                f"{total / max(row['cpu_seconds'], 1e-3):,.0f}",
                f"{row['equations']:,}",
                f"{row['candidates']:,}",
                f"{row['seconds']:.1f}",
                f"{row['cpu_seconds']:.1f}",
                f"{row['peak_bytes'] / 2**20:,.0f}",
                f"{row['load']:.1f}",
            ]
            yield f"| {' | '.join(cells)} |"


def extrapolated(rows: Mapping[str, Row]) -> Iterator[str]:
    """What the next size would take, if CPU time went on growing as it did last."""
    yield from ("", "## One size further", "", *FURTHER.splitlines(), "")
    yield "| from | CPU time grew by | next size, CPU hours | machines of 16 cores for one hour |"
    yield "|---|---|---|---|"
    for prefix in ("full", "family"):
        known = sorted((int(name.rpartition("-")[2]), row) for name, row in rows.items() if name.startswith(prefix))
        if len(known) > 1 and known[-2][0] == known[-1][0] - 1:
            (_, before), (size, last) = known[-2:]
            growth = last["cpu_seconds"] / before["cpu_seconds"]
            hours = last["cpu_seconds"] * growth / 3600
            yield f"| {prefix}-{size} | {growth:.1f} | {hours:.1f} | {hours / 16:.2f} |"


FURTHER = """Size 5 of the full set and size 6 of the products, if CPU time grows by that factor once more. The pools
of the full set are explored independently, so that machines share them as long as there are more pools than cores; the
products are one pool, of which only the evaluation of terms is spread, not the reduction of what they suggest."""

if __name__ == "__main__":
    main()
