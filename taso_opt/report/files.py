"""Writes a record to the files that a user asks for: a page for people, JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from taso_opt.errors import UsageError
from taso_opt.report.record import Record

SUFFIXES = (".html", ".json")


def check_report_paths(paths: Sequence[Path], taken: Sequence[Path | None] = ()) -> None:
    """Check that reports can be written there: UsageError before anything long begins when they cannot.

    No report takes the place of another, or of one of the `taken` files.
    """
    for at, path in enumerate(paths):
        check_report_path(path)
        for other in (*taken, *paths[:at]):
            if other is not None and is_same(path, other):
                raise UsageError(f"expected a report in a file of its own, found {path}, which is used already")


def check_report_path(path: Path) -> None:
    """The same for one report, whatever other files there are."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"expected --report FILE.html or FILE.json, found {path.name!r}")
    try:
        _check_place(path)
    except (OSError, ValueError) as error:  # a name that is too long or holds a zero, for one
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"expected a report file that can be written, found {str(path)[:80]!r}: {reason}") from error


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"expected a report file that can be written, found a folder: {path}")
    if not path.parent.is_dir():
        raise UsageError(f"expected a folder for the report, found none at {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"expected a report file that can be written, found {path}")


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file."""
    return one.resolve() == other.resolve()


def write_report(record: Record, path: Path) -> None:
    """Write the record as its suffix says; UsageError when the file cannot be written."""
    content = _content(record, path.suffix).encode()  # all of it, before an older report is lost
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"expected a report file that can be written, found {path}: {error.strerror}") from error


def json_text(record: Record) -> str:
    """The JSON document of a record, which schema.json describes."""
    return json.dumps(record.document(), indent=2, allow_nan=False)


def _content(record: Record, suffix: str) -> str:
    if suffix == ".json":
        return f"{json_text(record)}\n"
    from taso_opt.report.page import render_html  # here, so that JSON alone needs no templates

    return render_html(record)
