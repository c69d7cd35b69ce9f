"""Runs a command in a terminal of a given size, and draws what its screen then shows as an SVG picture."""

import fcntl
import io
import os
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROWS = 500
"""Lines of the terminal: so many that nothing scrolls out of it."""

READ_SIZE = 65536
SCALE = 0.75
"""Of rich's font size, which is twice that of a page's text."""

DARK = TerminalTheme(
    (22, 25, 29),
    (226, 230, 234),
    [
        (60, 66, 73),
        (255, 123, 114),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (200, 205, 210),
    ],
)
"""Colours of a dark terminal."""


@dataclass(frozen=True)
class Cell:
    """One character of a screen with its looks."""

    character: str
    style: Style


@dataclass(frozen=True)
class Screen:
    """What a terminal shows after the last byte: lines of cells without empty ones at the end."""

    command: str
    columns: int
    lines: tuple[tuple[Cell, ...], ...]

    @property
    def text(self) -> str:
        """The screen without its looks."""
        return "\n".join("".join(cell.character for cell in line).rstrip() for line in self.lines)


def record(command: Sequence[str], columns: int, environment: Mapping[str, str], folder: Path) -> tuple[bytes, int]:
    """All that a command writes to a terminal with so many columns, and its exit code."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    surroundings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    surroundings |= {"TERM": "xterm-256color", **environment}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=surroundings, cwd=folder, close_fds=True
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, READ_SIZE)
        except OSError:  # Linux says so when the other end is closed
            break
        if not part:
            break
        written += part
    os.close(ours)
    return written, process.wait()


def screen(command: str, written: bytes, columns: int) -> Screen:
    """The screen after these bytes."""
    display = pyte.Screen(columns, ROWS)
    pyte.ByteStream(display).feed(written)
    rows = [tuple(_cell(display.buffer[row][column]) for column in range(columns)) for row in range(ROWS)]
    while rows and all(cell.character == " " for cell in rows[-1]):
        rows.pop()
    return Screen(command, columns, tuple(rows))


def _cell(shown: pyte.screens.Char) -> Cell:
    colour = None if shown.fg == "default" else _colour(shown.fg)
    style = Style(color=colour, bold=shown.bold, italic=shown.italics, reverse=shown.reverse)
    return Cell(shown.data or " ", style)


def _colour(name: str) -> str:
    """The colour as rich names it; a terminal calls yellow brown."""
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f"#{name}"
    return name.replace("brown", "yellow").replace("bright", "bright_")


def draw(shown: Screen) -> str:
    """The screen as an SVG picture that asks for nothing from elsewhere."""
    console = Console(
        record=True, width=shown.columns, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in shown.lines:
        text = Text(no_wrap=True, end="\n")
        for style, cells in groupby(line, key=lambda cell: cell.style):
            text.append("".join(cell.character for cell in cells), style)
        console.print(text, crop=False, overflow="ignore")
    picture = console.export_svg(title=shown.command, theme=DARK, unique_id="terminal")
    return _standing_alone(picture)


def _standing_alone(picture: str) -> str:
    """The picture without fonts from elsewhere, at a size of its own."""
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.S)
    picture = picture.replace("Fira Code", "DejaVu Sans Mono").replace("font-family: arial", "font-family: sans-serif")
    return re.sub(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', _with_size, picture, count=1)


def _with_size(found: re.Match[str]) -> str:
    width, height = (round(float(found[at]) * SCALE) for at in (1, 2))
    return f'width="{width}" height="{height}" {found[0]}'
