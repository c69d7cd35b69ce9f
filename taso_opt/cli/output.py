"""Writes lines to stdout: as they are for programs, broken where a reader expects it on a terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

import click

NARROWEST = 40
"""A terminal that says it has fewer columns is taken to have these."""


def echo_lines(lines: Iterable[str]) -> None:
    """Print lines; on a terminal those that are too long are broken at spaces and set in."""
    if sys.stdout.isatty():
        from taso_opt.report.lines import wrapped

        lines = wrapped(lines, max(NARROWEST, shutil.get_terminal_size().columns))
    click.echo("\n".join(lines))
