"""Temporary files and folders that the next run removes when their own run was killed before it could.

Each is locked by its process for as long as it is in use. The system drops the lock when the process ends, however it
ends, so that whatever can be locked belongs to nobody any more. Where a file system knows no locks nothing is removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

FOLDER_PREFIX, FILE_PREFIX, FILE_SUFFIX = "tasoopt-scratch-", ".tasoopt-", ".tmp"
LOCK = ".lock"

_swept: set[Path] = set()
"""The folders that this process has looked into; once in its life is enough."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary files in the system's place for them, removed at the end of the block."""
    place = Path(tempfile.gettempdir())
    _sweep(place)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=place))
        with suppress(FileNotFoundError):  # another process took the folder for an abandoned one before it was locked
            descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            _lock(descriptor)
            if folder.exists():
                break
            os.close(descriptor)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


@contextmanager
def scratch_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file in a folder and its path, removed at the end of the block unless it has been moved away by then."""
    _sweep(folder)
    path = folder / f"{FILE_PREFIX}{uuid4().hex}{FILE_SUFFIX}"
    try:
        with path.open("xb") as stream:
            _lock(stream.fileno())
            yield path, stream
    finally:
        path.unlink(missing_ok=True)


def write_at_once(path: Path, data: bytes) -> None:
    """Replace a file, so that nobody reads half of it; OSError where it cannot be written.

    A device stays one, and so does a link; who may read the file may read the new one.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    with scratch_file(path.parent) as (draft, stream):
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        stream.write(data)
        stream.flush()
        draft.replace(path)


def can_write_at_once(path: Path) -> bool:
    """Whether a file can be replaced so, or a device written to, as far as can be told without trying."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        return not path.is_dir() and os.access(path, os.W_OK)
    is_free = not path.exists() or os.access(path, os.W_OK)
    return is_free and path.parent.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(place: Path) -> None:
    """Remove what processes that are gone have left in a folder; errors are nobody's concern here."""
    if place in _swept:
        return
    _swept.add(place)
    with suppress(OSError):
        for entry in list(os.scandir(place)):
            with suppress(OSError):
                _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    found = entry.stat(follow_symlinks=False)
    if found.st_uid != os.getuid():
        return
    if entry.name.startswith(FILE_PREFIX) and entry.name.endswith(FILE_SUFFIX) and stat.S_ISREG(found.st_mode):
        if _is_abandoned(entry.path):
            os.unlink(entry.path)
    elif entry.name.startswith(FOLDER_PREFIX) and stat.S_ISDIR(found.st_mode):
        lock = os.path.join(entry.path, LOCK)
        if not os.path.lexists(lock):
            os.rmdir(entry.path)  # killed before it was locked; fails where anything is in it
        elif _is_abandoned(lock):
            shutil.rmtree(entry.path)


def _is_abandoned(path: str) -> bool:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return _lock(descriptor)
    finally:
        os.close(descriptor)
