"""`tasoopt generate`: discover candidate rules from the operator specifications."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from taso_opt.cli.output import require_writable
from taso_opt.core.machine.scratch import write_at_once
from taso_opt.errors import UsageError

if TYPE_CHECKING:
    from taso_opt.generate import GenerateStats, PoolStats

REASONS = ("renaming", "common subgraph", "implied", "trivial")


@click.command()
@click.option("--operators", metavar="A,B", help="Use these operators only [all].")
@click.option("--max-ops", type=int, default=3, show_default=True, help="Operators on each side, 1 to 6.")
@click.option("--jobs", type=int, help="Processes [one for each core].")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the values that terms are compared on.")
@click.option("--stats", is_flag=True, help="Print how many terms, classes and candidates there were.")
@click.option("--pools", metavar="A,B", help="Enumerate over these sets of variables only [all].")
@click.option("--max-memory", type=float, metavar="GIB", help="For all processes together [4/5 of what there is].")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Keep what is done here, and go on.")
@click.option("--cluster", metavar="ADDRESS", help="Work on the workers of this Dask scheduler.")
@click.option("--array", default="numpy", show_default=True, help="Evaluate terms with numpy, or cupy on a GPU.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the candidates to this file.")
def command(
    operators: str | None,
    max_ops: int,
    jobs: int | None,
    seed: int,
    stats: bool,
    pools: str | None,
    max_memory: float | None,
    resume: Path | None,
    cluster: str | None,
    array: str,
    output: Path | None,
) -> None:
    """Print candidate equations between terms over the operators, one a line, sorted by size and text.

    Each has the same values on random inputs; nothing is proved yet (see `tasoopt verify`). The same seed gives the
    same candidates, wherever the work is done. With --stats and without -o only the counts are printed.
    """
    from taso_opt.cli.progress import Pace, stderr_progress
    from taso_opt.generate import GenerateSettings, generate
    from taso_opt.spec import load_specs
    from taso_opt.spec.text import format_rule

    memory = None if max_memory is None else _bytes(max_memory)
    settings = GenerateSettings(_names(operators), max_ops, jobs, seed, _names(pools), memory, resume, cluster, array)
    if output is not None:
        require_writable(output, "--output")
    with stderr_progress() as report:
        clock = Pace(time.monotonic)
        found = generate(load_specs(), settings, lambda stage, done, count: report(clock.line(stage, done, count)))
    text = "".join(f"{format_rule(rule)}\n" for rule in found.candidates)
    if output is not None:
        _write(output, text)
    elif not stats:
        click.echo(text, nl=False)
    if stats:
        click.echo(_table(found.stats))
    elif output is not None:
        click.echo(f"{len(found.candidates)} candidates in {output}")


def _bytes(gib: float) -> int:
    if not math.isfinite(gib * 2**30):
        raise UsageError(f"expected a number of GiB for --max-memory, found {gib}")
    return int(gib * 2**30)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def _write(output: Path, text: str) -> None:
    """Replace the file at once, so that nobody reads half of it."""
    try:
        write_at_once(output, text.encode())
    except OSError as error:
        raise UsageError(f"expected a file that can be written for --output, found {output}: {error}") from error


def _table(stats: GenerateStats) -> str:
    """The counts of every pool, of every level of every family, and of the stages, as aligned text."""
    return "\n\n".join([_aligned(_pools(stats)), _aligned(_levels(stats)), _aligned(_pruning(stats))])


def _pools(stats: GenerateStats) -> list[list[str]]:
    """A row for each pool: the terms of each level, and what became of the equations."""
    levels = max(len(pool.levels) for pool in stats.pools)
    head = ["pool", *(f"terms {size}" for size in range(1, levels + 1)), "classes", "equations", *REASONS, "left"]
    rows = [_row(pool, levels) for pool in stats.pools]
    total = ["all", *(str(sum(int(row[column]) for row in rows)) for column in range(1, len(head)))]
    return [head, *rows, total]


def _row(pool: PoolStats, levels: int) -> list[str]:
    terms = [terms for terms, _ in pool.levels] + [0] * (levels - len(pool.levels))
    dropped = [pool.dropped.get(reason, 0) for reason in REASONS]
    counts = (*terms, sum(classes for _, classes in pool.levels), pool.claims, *dropped, pool.kept)
    return [pool.pool, *map(str, counts)]


def _levels(stats: GenerateStats) -> Iterator[list[str]]:
    """A row for each family and level; the last level is compared, not kept."""
    yield ["family", "operators", "terms", "new classes"]
    for family in dict.fromkeys(pool.family for pool in stats.pools):
        levels = [pool.levels for pool in stats.pools if pool.family == family]
        for size in range(max(map(len, levels))):
            counts = [pool[size] for pool in levels if size < len(pool)]
            yield [family, str(size + 1), *(str(sum(part)) for part in zip(*counts, strict=True))]


def _pruning(stats: GenerateStats) -> Iterator[list[str]]:
    """How many equations are left after each kind of pruning, as in the paper's table 2.3."""
    yield ["left after", "equations"]
    left = sum(pool.claims for pool in stats.pools)
    yield ["equal fingerprints", str(left)]
    for reason in REASONS:
        left -= sum(pool.dropped.get(reason, 0) for pool in stats.pools)
        yield [reason, str(left)]
    yield ["sizes and identified variables", str(stats.shapes)]
    yield ["fresh instances", str(stats.shapes - stats.refuted)]
    yield ["most general forms", str(stats.forms)]
    yield ["between scalar functions, added", str(stats.scalars)]
    yield ["definitions, added", str(stats.definitions)]
    yield ["passing slices, means and pools, added", str(stats.passing)]
    yield ["instances of others: candidates", str(stats.candidates)]


def _aligned(rows: Iterable[Sequence[str]]) -> str:
    """Columns of equal width, names to the left and counts to the right."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table)
