"""Writes a record to the files that a user asks for: a page for people, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path

from taso_opt.errors import UsageError
from taso_opt.report.record import Record

SUFFIXES = (".html", ".json")


def check_report_path(path: Path) -> None:
    """Check that a report can be written there: UsageError before anything long begins when it cannot."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"expected --report FILE.html or FILE.json, found {path.name!r}")
    if path.is_dir():
        raise UsageError(f"expected a report file that can be written, found a folder: {path}")
    if not path.parent.is_dir():
        raise UsageError(f"expected a folder for the report, found none at {path.parent}")


def write_report(record: Record, path: Path) -> None:
    """Write the record as its suffix says; UsageError when the file cannot be written."""
    try:
        path.write_text(_content(record, path.suffix), encoding="utf-8")
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
