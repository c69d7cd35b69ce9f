"""What a generation has finished, kept in a folder as lines of JSON so that an interrupted one can go on."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import Any, TextIO

from taso_opt.errors import InvalidInputError

FILE = "pieces.jsonl"
MOST_BYTES = 1 << 32
"""A larger file was not written by the tool."""


@dataclass
class Checkpoint:
    """Finished pieces by stage and number; without a file nothing is kept."""

    file: TextIO | None = None
    pieces: dict[tuple[str, int], Any] = field(default_factory=dict)

    def known(self, stage: str) -> Iterator[tuple[int, Any]]:
        """The pieces of a stage that an earlier run finished."""
        return ((place, found) for (name, place), found in sorted(self.pieces.items()) if name == stage)

    def save(self, stage: str, place: int, found: Any) -> None:
        """Note what a piece gave; it is on the disk when this returns. Raises InvalidInputError where it is not."""
        if self.file is None:
            return
        line = json.dumps([stage, place, found], separators=(",", ":"))
        try:
            self.file.write(f"{line}\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise InvalidInputError(
                f"expected a folder that can be written for --resume, found {Path(self.file.name).parent}: {error}"
            ) from error

    def close(self) -> None:
        """Nothing more is saved; what could not be written was told by `save`."""
        if self.file is not None:
            with suppress(OSError):
                self.file.close()


def open_checkpoint(folder: Path | None, task: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint in a folder, made where there is none; `task` is all that the pieces depend on, as JSON values.

    A last line that was cut off is left out, and written again if it is the task's. Raises InvalidInputError when the
    folder cannot be used, holds the pieces of another task, or something else.
    """
    if folder is None:
        return Checkpoint()
    path, head = folder / FILE, f"{json.dumps(task, sort_keys=True)}\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened:
            file = opened.enter_context(path.open("a", encoding="utf-8"))
            _lock(file, folder)
            fresh = _is_cut_off(path, head)
            pieces = {} if fresh else _read(path, task)
            if fresh:
                file.truncate(0)
                file.write(head)
                file.flush()
            opened.pop_all()
    except OSError as error:
        raise InvalidInputError(
            f"expected a folder that can be written for --resume, found {folder}: {error}"
        ) from error
    return Checkpoint(file, pieces)


def _lock(file: TextIO, folder: Path) -> None:
    """Keep other runs away from a folder for as long as the file is open; the lines of two would be mixed."""
    with suppress(OSError):  # some file systems know no locks
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"expected a folder of no other run for --resume, found one at work in {folder}"
            raise InvalidInputError(message) from error


def _is_cut_off(path: Path, head: str) -> bool:
    """Whether a file has a part of its first line and nothing else."""
    return path.stat().st_size < len(head) and head.encode().startswith(path.read_bytes())


def _read(path: Path, task: Mapping[str, Any]) -> dict[tuple[str, int], Any]:
    if path.stat().st_size > MOST_BYTES:
        raise InvalidInputError(f"expected at most {MOST_BYTES} bytes in {path}, found {path.stat().st_size}")
    whole = path.read_bytes()
    complete = whole[: whole.rfind(b"\n") + 1]
    try:
        head, *lines = complete.decode("utf-8").splitlines()
        found, records = json.loads(head), [json.loads(line) for line in lines]
        pieces = {(str(stage), index(place)): content for stage, place, content in records}
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"expected what an interrupted run left in {path}, found something else: {error}"
        ) from error
    different = sorted(name for name in task if not isinstance(found, dict) or found.get(name) != task[name])
    if different:
        raise InvalidInputError(f"expected an interrupted run of the same task in {path}, found another {different[0]}")
    if len(complete) != len(whole):
        with path.open("r+b") as file:
            file.truncate(len(complete))
    return pieces
