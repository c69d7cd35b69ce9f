"""Temporary files go away with their block, or with the next run where theirs was killed; those in use stay."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from taso_opt.core.machine import scratch
from taso_opt.core.machine.scratch import (
    FILE_PREFIX,
    FILE_SUFFIX,
    FOLDER_PREFIX,
    LOCK,
    can_write_at_once,
    scratch_file,
    scratch_folder,
    write_at_once,
)

KILLED = """
import os, signal
from pathlib import Path
from taso_opt.core.machine.scratch import scratch_file, scratch_folder
with scratch_folder() as folder, scratch_file(Path(os.environ["TMPDIR"])) as (path, stream):
    (folder / "large").write_bytes(bytes(100))
    stream.write(bytes(100))
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for temporary files that nobody has looked into yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_swept", set())
    return tmp_path


def names(place):
    return sorted(os.listdir(place))


def kill_a_user(place):
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert done.returncode == -9


def test_a_folder_and_a_file_are_gone_behind_their_block(place):
    with scratch_folder() as folder, scratch_file(place) as (path, stream):
        (folder / "inner").mkdir()
        stream.write(b"content")
        assert folder.is_dir() and path.is_file()
        assert folder.name.startswith(FOLDER_PREFIX)
    assert names(place) == []


def test_a_file_that_was_moved_away_stays(place):
    with scratch_file(place) as (path, stream):
        stream.write(b"content")
        stream.flush()
        os.replace(path, place / "result")
    assert (place / "result").read_bytes() == b"content"
    assert names(place) == ["result"]


def test_a_file_is_replaced_at_once_and_a_pipe_stays_one(place):
    file, pipe = place / "file", place / "pipe"
    file.write_bytes(b"before")
    write_at_once(file, b"after")
    assert file.read_bytes() == b"after"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_at_once(pipe, b"after")
    assert os.read(reader, 10) == b"after"
    os.close(reader)
    assert pipe.is_fifo() and sorted(place.iterdir()) == [file, pipe]


def test_a_link_stays_one_and_nobody_else_may_read_the_new_file(place):
    file, link = place / "file", place / "link"
    file.write_bytes(b"before")
    file.chmod(0o600)
    link.symlink_to("file")
    write_at_once(link, b"after")
    assert link.is_symlink() and file.read_bytes() == b"after"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_can_be_replaced_where_another_can_be_put_beside_it(place, monkeypatch):
    file, loop = place / "file", place / "loop"
    file.touch()
    loop.symlink_to("loop")
    assert all(map(can_write_at_once, (file, place / "new", Path(os.devnull))))
    assert not any(map(can_write_at_once, (place, loop / "file", place / "no" / "file", file / "file")))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place)
    assert not can_write_at_once(file)


def test_an_error_leaves_nothing(place):
    with pytest.raises(ZeroDivisionError), scratch_folder(), scratch_file(place):
        raise ZeroDivisionError
    assert names(place) == []


def test_what_a_killed_process_left_is_removed_by_the_next(place):
    kill_a_user(place)
    left = names(place)
    assert len(left) == 2
    assert left[0].startswith(FILE_PREFIX) and left[1].startswith(FOLDER_PREFIX)
    with scratch_file(place):
        assert not set(left) & set(names(place))
    assert names(place) == []


def test_what_another_process_uses_stays(place):
    with scratch_folder() as folder, scratch_file(place) as (path, _):
        script = KILLED.replace("os.kill", "print")
        environment = {**os.environ, "TMPDIR": str(place)}
        subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True)
        assert folder.is_dir() and path.is_file()


def test_what_only_looks_alike_stays(place, monkeypatch):
    outside = place.parent / f"{place.name}-outside"
    outside.mkdir()
    (outside / LOCK).touch()
    (place / f"{FOLDER_PREFIX}link").symlink_to(outside)
    (place / f"{FOLDER_PREFIX}full").mkdir()
    (place / f"{FOLDER_PREFIX}full" / "file").touch()
    (place / f"{FILE_PREFIX}link{FILE_SUFFIX}").symlink_to(outside / LOCK)
    (place / f"{FILE_PREFIX}other").touch()
    before = names(place)
    with scratch_folder():
        pass
    assert names(place) == before
    assert (outside / LOCK).exists()


def test_files_of_another_user_stay(place, monkeypatch):
    kill_a_user(place)
    before = names(place)
    monkeypatch.setattr("taso_opt.core.machine.scratch.os.getuid", lambda: os.geteuid() + 1)
    with scratch_file(place):
        pass
    assert names(place) == before


def test_a_folder_that_cannot_be_listed_is_no_trouble(place, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("taso_opt.core.machine.scratch.os.scandir", refuse)
    with scratch_folder() as folder:
        assert folder.is_dir()
