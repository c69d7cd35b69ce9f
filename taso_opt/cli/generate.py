"""`tasoopt generate`: discover candidate rules from the operator specifications."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from taso_opt.errors import InvalidInputError

if TYPE_CHECKING:
    from taso_opt.generate import GenerateStats, PoolStats

REASONS = ("renaming", "common subgraph", "implied", "trivial")


@click.command()
@click.option("--operators", metavar="A,B", help="Use these operators only [all].")
@click.option("--max-ops", type=int, default=3, show_default=True, help="Operators on each side, 1 to 6.")
@click.option("--jobs", type=int, help="Processes [one for each core].")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the values that terms are compared on.")
@click.option("--stats", is_flag=True, help="Print how many terms, classes and candidates there were.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the candidates to this file.")
def command(operators: str | None, max_ops: int, jobs: int | None, seed: int, stats: bool, output: Path | None) -> None:
    """Print candidate equations between terms over the operators, one a line, sorted by size and text.

    Each has the same values on random inputs; nothing is proved yet (see `tasoopt verify`). The same seed gives the
    same candidates, whatever the number of processes. With --stats and without -o only the counts are printed.
    """
    from taso_opt.cli.progress import stderr_progress
    from taso_opt.generate import GenerateSettings, generate
    from taso_opt.spec import load_specs
    from taso_opt.spec.text import format_rule

    names = None if operators is None else tuple(name.strip() for name in operators.split(","))
    settings = GenerateSettings(names, max_ops, jobs, seed)
    if output is not None:
        _check_writable(output)
    with stderr_progress() as report:
        found = generate(load_specs(), settings, lambda stage, done, count: report(f"{stage}: {done} of {count}"))
    text = "".join(f"{format_rule(rule)}\n" for rule in found.candidates)
    if output is not None:
        _write(output, text)
    elif not stats:
        click.echo(text, nl=False)
    if stats:
        click.echo(_table(found.stats))
    elif output is not None:
        click.echo(f"{len(found.candidates)} candidates in {output}")


def _check_writable(output: Path) -> None:
    """Fail before the work rather than after it."""
    folder = output.parent
    if output.is_dir() or not folder.is_dir() or not os.access(output if output.exists() else folder, os.W_OK):
        raise InvalidInputError(f"expected a file that can be written for --output, found {output}")


def _write(output: Path, text: str) -> None:
    """Replace the file at once, so that nobody reads half of it."""
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(output)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidInputError(f"expected a file that can be written for --output, found {output}: {error}") from error


def _table(stats: GenerateStats) -> str:
    """The counts of every pool and level, then of the stages, as aligned text."""
    levels = max(len(pool.levels) for pool in stats.pools)
    head = ["pool", *(f"terms {size}" for size in range(1, levels + 1)), "classes", "equations", *REASONS, "left"]
    rows = [_row(pool, levels) for pool in stats.pools]
    total = ["all", *(str(sum(int(row[column]) for row in rows)) for column in range(1, len(head)))]
    widths = [max(map(len, column)) for column in zip(head, *rows, total, strict=True)]
    lines = [_aligned(row, widths) for row in (head, *rows, total)]
    return "\n".join([*lines, "", *_stages(stats)])


def _row(pool: PoolStats, levels: int) -> list[str]:
    terms = [terms for terms, _ in pool.levels] + [0] * (levels - len(pool.levels))
    dropped = [pool.dropped.get(reason, 0) for reason in REASONS]
    counts = (*terms, sum(classes for _, classes in pool.levels), pool.claims, *dropped, pool.kept)
    return [pool.pool, *map(str, counts)]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])


def _stages(stats: GenerateStats) -> Iterator[str]:
    yield f"{stats.shapes} equations that differ in more than sizes and identified variables"
    yield f"{stats.refuted} refuted on fresh instances"
    yield f"{stats.forms} general forms"
    yield f"{stats.scalars} equations between scalar functions"
    yield f"{stats.definitions} definitions"
    yield f"{stats.candidates} candidates, none an instance of another"
