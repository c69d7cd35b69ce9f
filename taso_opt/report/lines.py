"""Breaks long lines and equations where a reader expects it, for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment

HANG = 4
"""Columns by which the rest of a broken line is set in."""

MANY_LINES = 12
CUT_OFF = "  ... (tasoopt rules show ID)"
"""Stands below the lines of an equation that is longer, and says how to see all of it."""

EQUALS = " = "
NARROWEST = 30


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines, those that are too long broken at spaces and set in below their first word."""
    for line in lines:
        if len(line) <= width:
            yield line
            continue
        indent = " " * min(len(line) - len(line.lstrip()) + HANG, width // 2)
        yield from textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)


def equation_lines(text: str, width: int) -> list[str]:
    """An equation on one line if it fits, else each side on lines of its own."""
    if len(text) <= width or EQUALS not in text:
        return list(wrapped([text], width))
    left, right = text.split(EQUALS, 1)
    return list(wrapped([left, f"  = {right}"], width))


@dataclass(frozen=True)
class Broken:
    """A line in a table, broken as its column needs it by a function of text and width."""

    text: str
    into: Callable[[str, int], list[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines in the width that the column has."""
        for line in self.into(self.text, options.max_width):
            yield Segment(line)
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From a width in which it can be read to the width that it has on one line."""
        longest = len(self.text)
        return Measurement(min(NARROWEST, longest), longest).with_maximum(options.max_width)


def equation(text: str) -> Broken:
    """An equation in a table, cut off where it is long: those about recurrent operators have dozens of lines."""

    def first_lines(text: str, width: int) -> list[str]:
        lines = equation_lines(text, width)
        return lines if len(lines) <= MANY_LINES else [*lines[: MANY_LINES - 1], CUT_OFF]

    return Broken(text, first_lines)


def hanging(text: str) -> Broken:
    """Any other line in a table, what follows its first line set in."""
    return Broken(text, lambda text, width: list(wrapped([text], width)))
