"""Reads from README.md, CONTRIBUTING.md and docs/ what they tell a reader to type.

A comment above a fenced block says what becomes of it:

- `<!-- run -->`: the tests run it, `console` line by line with what it shows compared (`...` stands for anything),
  `python` as a program, `yaml` its `run` and `script` lines. The blocks of one page share a folder.
- `<!-- run in a clone -->`: `make first-steps` runs it, in a fresh clone with an empty environment.
- `<!-- file: NAME -->`: the block is that file's content, for the blocks behind it.
- `<!-- setup: COMMAND -->`, without a block: run before what follows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
PIECE = re.compile(
    r"<!-- setup: (?P<setup>.+?) -->|(?:<!-- (?P<marker>[^>]+?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)
SETUP, RUN, CLONE, FILE = "setup", "run", "run in a clone", "file: "
TYPED = ("console", "bash", "sh", "python", "yaml")
"""Kinds of blocks that hold something to run."""


@dataclass(frozen=True)
class Piece:
    """One block or setup command of a page: its kind, what becomes of it and its text."""

    kind: str
    marker: str
    body: str

    @property
    def steps(self) -> list[tuple[str, list[str]]]:
        """The commands of a console block, each with the lines that it is shown to print."""
        found: list[tuple[str, list[str]]] = []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found


def pieces(page: Path) -> Iterator[Piece]:
    """The blocks of a page in order."""
    for found in PIECE.finditer(page.read_text(encoding="utf-8")):
        if found["setup"]:
            yield Piece("console", SETUP, f"$ {found['setup']}\n")
        else:
            yield Piece(found["kind"], found["marker"] or "", found["body"])


def name(page: Path) -> str:
    """The path of a page in the repository."""
    return str(page.relative_to(ROOT))
