"""Writes lines to stdout: as they are for programs, broken where a reader expects it on a terminal.

And tells before the work whether a file can be written after it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from taso_opt.core.machine.scratch import can_write_at_once
from taso_opt.errors import UsageError

NARROWEST = 40
"""A terminal that says it has fewer columns is taken to have these."""


def echo_lines(lines: Iterable[str]) -> None:
    """Print lines; on a terminal those that are too long are broken at spaces and set in."""
    if sys.stdout.isatty():
        from taso_opt.report.lines import wrapped

        lines = wrapped(lines, max(NARROWEST, shutil.get_terminal_size().columns))
    click.echo("\n".join(lines))


def require_writable(output: Path, option: str) -> None:
    """Fail before the work rather than after it: UsageError for a place where no file can be written."""
    if not can_write_at_once(output):
        raise UsageError(f"expected a file that can be written for {option}, found {output}")
