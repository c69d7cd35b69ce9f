"""`tasoopt explain`: which rules fit one node of a model, which do not, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from taso_opt.cli.options import DIM, fp_class_option, parse_dims, where_it_runs
from taso_opt.cli.output import echo_lines
from taso_opt.cli.progress import stderr_progress
from taso_opt.core.rule import FpClass


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--at", "node", required=True, metavar="NODE", help="The name of a node, or of a value that it gives.")
@click.option("--all", "with_all", is_flag=True, help="Also every rule that expects other operators.")
@click.option("--rules", type=click.Path(path_type=Path), help="A rule library [the one shipped].")
@where_it_runs
@fp_class_option
@click.option("--dim", "dims", multiple=True, metavar="NAME=N", help=f"{DIM}.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON document.")
def command(
    model: Path, node: str, with_all: bool, fp_class: str, dims: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Say which rules fit a node of MODEL and what each would change, and why the others do not fit.

    What a change gains is predicted from costs measured on this machine; what is not known yet is measured. A negative
    gain is a loss.
    """
    with stderr_progress() as progress:
        progress("loading")
        from taso_opt.api import OptimizeSettings, explain_node

        settings = OptimizeSettings(fp_class=FpClass(fp_class), dims=parse_dims(dims), **options)
        explanation = explain_node(model, node, settings, progress)
    if as_json:
        click.echo(json.dumps(explanation.document(), indent=2))
        return
    from taso_opt.report.explained import explanation_lines

    echo_lines(explanation_lines(explanation, with_all))
