"""`tasoopt cost`: the costs measured on this machine."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from taso_opt.cli.output import echo_lines
from taso_opt.errors import UsageError

if TYPE_CHECKING:
    from taso_opt.cost.table import CostEntry


@click.group()
def command() -> None:
    """Show, export or clear the costs measured on this machine."""


@command.command()
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many of the newest entries.")
def show(limit: int) -> None:
    """Print where the table is, how large it is, and its newest entries."""
    from taso_opt.cost import CostTable

    with CostTable() as table:
        entries = list(table.entries())
    echo_lines([f"{table.path}: {len(entries)} costs", *map(_line, islice(entries, limit))])


def _line(entry: CostEntry) -> str:
    if math.isinf(entry.seconds):
        return f"{'not runnable':>23}  {entry.unit}"
    return f"{entry.seconds * 1e6:12.3f} µs ± {entry.spread * 1e6:<5.3f}  {entry.unit}"


@command.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file instead of stdout.")
def export(output: Path | None) -> None:
    """Write all costs as one JSON document."""
    from taso_opt.cost import CostTable

    with CostTable() as table:
        entries = [asdict(entry) for entry in table.entries()]
    for entry in entries:
        entry["seconds"] = None if entry["seconds"] == float("inf") else entry["seconds"]
    document = json.dumps({"schema_version": 1, "command": "cost export", "costs": entries}, indent=2)
    if output is None:
        click.echo(document)
        return
    try:
        output.write_text(document + "\n")
    except OSError as error:
        raise UsageError(f"expected a file that can be written, found {output}: {error.strerror}") from error


@command.command()
def clear() -> None:
    """Forget all costs: they are measured again when needed."""
    from taso_opt.cost import CostTable

    with CostTable() as table:
        click.echo(f"removed {table.clear()} costs from {table.path}")
