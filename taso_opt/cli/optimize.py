"""`tasoopt optimize`: search for a faster equivalent of a model and write it when it is proved, equal and faster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from taso_opt.cli.options import DIM, fp_class_option, parse_sizes, seed_option, where_it_runs
from taso_opt.cli.progress import stderr_progress
from taso_opt.core.rule import FpClass
from taso_opt.errors import MismatchError

if TYPE_CHECKING:
    from taso_opt.report.record import Record

BUDGET = "Time for the search [40; 15 more for each thousand computed operators beyond a thousand, 120 at most]."
OBJECTIVE = "latency, flops, memory, launches or weights, or a mix such as latency=1,memory=0.1."
MEMORY_LIMIT = "The most memory, as estimated, such as 64MB."
SIZE_GROWTH = "By how much the bytes of weights may grow, such as 10%."
ALLOW_SLOWER = "Write what meets another objective even if it is slower."
ALPHA = "How much worse than the best a graph may be and still be explored."
REPORT = "Also write a report: FILE.html for people, FILE.json for programs. May be given several times."


def read_size(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """A size in bytes as an option gives it; UsageError for what is none."""
    from taso_opt.cost import parse_bytes

    return None if value is None else parse_bytes(value)


def read_percent(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """A percentage as an option gives it; UsageError for what is none."""
    from taso_opt.cost import parse_percent

    return None if value is None else parse_percent(value)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it [MODEL with .opt.onnx].")
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option("--rules", type=click.Path(path_type=Path), help="A rule library [the one shipped].")
@where_it_runs
@click.option("--budget", type=click.FloatRange(0.1), metavar="SECONDS", help=BUDGET)
@click.option("--alpha", type=click.FloatRange(1.0, 10.0), default=1.05, show_default=True, metavar="A", help=ALPHA)
@click.option("--objective", default="latency", show_default=True, help=OBJECTIVE)
@click.option("--memory-limit", metavar="SIZE", callback=read_size, help=MEMORY_LIMIT)
@click.option("--max-size-growth", metavar="PERCENT", callback=read_percent, help=SIZE_GROWTH)
@click.option("--allow-slower", is_flag=True, help=ALLOW_SLOWER)
@fp_class_option
@click.option("--dim", "dims", multiple=True, metavar="NAME=N[,N..]", help=f"{DIM}; further ones to compare at.")
@click.option("--inputs", type=click.Path(path_type=Path), help="Your own sample inputs: an .npz file, or a folder.")
@seed_option
@click.option("--report", "reports", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help=REPORT)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write no model.")
def command(
    model: Path, fp_class: str, dims: tuple[str, ...], reports: tuple[Path, ...], as_json: bool, **options: Any
) -> None:
    """Rewrite MODEL into an equivalent model that runs faster on this machine.

    The baseline is MODEL under the runtime with all its own optimizations. A result is written only when it computes
    the same and is measured faster by more than the noise, or is better by another objective and not slower; otherwise
    the output is the input, byte for byte.
    """
    from taso_opt.report.files import check_report_paths, json_text, write_report

    check_report_paths(reports, (model, options["output"], options["inputs"], options["rules"]))
    with stderr_progress() as progress:
        progress("loading")
        from taso_opt.api import OptimizeSettings, optimize_file
        from taso_opt.api.settings import require_sound
        from taso_opt.onnx_io import data_files

        if any(map(Path.exists, reports)):
            check_report_paths(reports, data_files(model))
        settings = OptimizeSettings(fp_class=FpClass(fp_class), dims=parse_sizes(dims), **options)
        require_sound(settings)
        try:
            record = optimize_file(model, settings, progress)
        except MismatchError as error:
            _tell_evidence(error, reports, as_json)
            raise
    for path in reports:
        write_report(record, path)
    if as_json:
        click.echo(json_text(record))
    else:
        _print(record)


def _tell_evidence(error: MismatchError, reports: tuple[Path, ...], as_json: bool) -> None:
    """Reports of a failed check: what a reader needs to find the defect."""
    from taso_opt.report.files import json_text, write_report
    from taso_opt.report.record import Record

    if isinstance(error.evidence, Record):
        for path in reports:
            write_report(error.evidence, path)
        if as_json:
            click.echo(json_text(error.evidence))


def _print(record: Record) -> None:
    from rich.console import Console

    from taso_opt.report.text import print_report

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise

    print_report(record, Terminal(highlight=False, soft_wrap=False))
