"""Pages in Markdown that benchmarks write: a title, what the script says of itself, and tables."""

from collections.abc import Iterable, Sequence
from pathlib import Path


def write_page(output: Path, title: str, document: str | None, lines: Iterable[str]) -> None:
    """Write a page of a title, of what a script's docstring says behind its usage, and of lines."""
    said = (document or "").split("\n\n", 2)[2].strip()
    output.write_text("\n".join([f"# {title}", "", said, "", *lines, ""]), encoding="utf-8")


def table(columns: Sequence[str], rows: Iterable[str]) -> list[str]:
    """The lines of a table."""
    return [table_row(columns), "|---" * len(columns) + "|", *rows]


def table_row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"
