"""`tasoopt compare`: do two models compute the same, and which one is faster?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from taso_opt.cli.options import DIM, parse_dims, seed_option, where_it_runs
from taso_opt.cli.output import echo_lines
from taso_opt.cli.progress import stderr_progress

ROUNDS = "How often both are timed in turns."


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@where_it_runs
@click.option("--rounds", type=click.IntRange(3, 1000), default=30, show_default=True, metavar="N", help=ROUNDS)
@click.option("--dim", "dims", multiple=True, metavar="NAME=N", help=f"{DIM}.")
@click.option("--inputs", type=click.Path(path_type=Path), help="Sample inputs: an .npz file, or a folder.")
@seed_option
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON document.")
def command(first: Path, second: Path, dims: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Run FIRST and SECOND on the same inputs: say whether the outputs agree and which model is faster.

    The ratio is the time of FIRST divided by the time of SECOND, with FIRST against itself as the control. Exits with 1
    when the outputs differ.
    """
    with stderr_progress() as progress:
        progress("loading")
        from taso_opt.api import CompareSettings, compare_files

        comparison = compare_files(first, second, CompareSettings(dims=parse_dims(dims), **options), progress)
    if as_json:
        click.echo(json.dumps(comparison.document(), indent=2))
    else:
        from taso_opt.report.text import comparison_lines

        echo_lines(comparison_lines(comparison))
    return 0 if comparison.agrees else 1
