"""The cost table survives restarts, other processes, broken files and kills."""

import logging
import math
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from taso_opt.cost.table import CostEntry, CostTable, cache_folder
from taso_opt.errors import InvalidInputError


def entry(unit, seconds, device="here"):
    return CostEntry(device, unit, seconds, 0.0, 7)


def test_what_is_stored_is_there_for_the_next_run(tmp_path):
    path = tmp_path / "costs.sqlite"
    with CostTable(path) as table:
        table.store([entry("a", 1e-6), entry("b", math.inf), entry("a", 5.0, device="elsewhere")])
        table.store([entry("a", 2e-6)])
    with CostTable(path) as table:
        assert table.load("here") == {"a": 2e-6, "b": math.inf}
        assert len(list(table.entries())) == 3
        assert table.clear() == 3
        assert table.load("here") == {}


@pytest.mark.parametrize("content", [b"this is no database" * 50, b"\0" * 4096])
def test_a_file_that_is_no_table_is_moved_aside(content, tmp_path, caplog):
    path = tmp_path / "costs.sqlite"
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING), CostTable(path) as table:
        table.store([entry("a", 1.0)])
        assert table.load("here") == {"a": 1.0}
    assert "is no cost table" in caplog.text
    assert path.with_name("costs.sqlite.broken").read_bytes() == content


def test_a_table_of_another_version_is_moved_aside(tmp_path):
    path = tmp_path / "costs.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with CostTable(path) as table:
        assert table.load("here") == {}
    assert path.with_name("costs.sqlite.broken").exists()


def test_a_table_that_is_damaged_inside_is_moved_aside(tmp_path):
    path = tmp_path / "costs.sqlite"
    with CostTable(path) as table:
        table.store([entry(f"unit {number} {'x' * 100}", 1.0) for number in range(1000)])
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 8192] = b"\xff" * 8192
    path.write_bytes(content)
    with CostTable(path) as table:
        assert table.load("here") == {}
    assert path.with_name("costs.sqlite.broken").read_bytes() == bytes(content)


def test_what_cannot_be_stored_is_said_and_the_run_goes_on(tmp_path, caplog):
    with CostTable(tmp_path / "costs.sqlite") as table:
        table.store([entry("a", 1.0)])
        table._connection.execute("PRAGMA query_only = 1")  # as on a full disk: reading goes on
        with caplog.at_level(logging.WARNING):
            table.store([entry("b", 1.0)])
            table.decide("here", "contest", 1)
        assert table.load("here") == {"a": 1.0} and table.decision("here", "contest") is None
    assert caplog.text.count("cannot be written, and is not") == 2


def test_opening_a_table_writes_nothing_to_it(tmp_path):
    path = tmp_path / "costs.sqlite"
    with CostTable(path) as table:
        table.store([entry("a", 1.0)])
    with closing(sqlite3.connect(path)) as beside:
        (before,) = beside.execute("PRAGMA data_version").fetchone()
        with CostTable(path) as table:
            assert table.load("here") == {"a": 1.0}
        assert beside.execute("PRAGMA data_version").fetchone() == (before,)


def test_a_folder_in_the_way_is_an_error_of_one_sentence(tmp_path):
    (tmp_path / "costs.sqlite").mkdir()
    with pytest.raises(InvalidInputError, match="expected a cost table at"):
        CostTable(tmp_path / "costs.sqlite")


WRITER = """
import sys
from pathlib import Path
from taso_opt.cost.table import CostEntry, CostTable
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with CostTable(path) as table:
    for at in range(count):
        table.store([CostEntry("here", f"{name}{at}", float(at), 0.0, 7)])
        if at == 5:
            print("ready", flush=True)
"""


def writer(path, name, count):
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "costs.sqlite"
    writers = [writer(path, name, 50) for name in "ab"]
    for process in writers:
        process.communicate(timeout=60)
    assert [process.returncode for process in writers] == [0, 0]
    with CostTable(path) as table:
        assert len(table.load("here")) == 100


@pytest.fixture
def being_made(tmp_path):
    """A new file that another process writes to, before it has been turned to WAL."""
    connection = sqlite3.connect(tmp_path / "costs.sqlite", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_a_table_that_another_process_is_making_is_waited_for(being_made, tmp_path, monkeypatch):
    monkeypatch.setattr("taso_opt.cost.table.time.sleep", lambda _: being_made.rollback())
    with CostTable(tmp_path / "costs.sqlite") as table:
        table.store([entry("a", 1.0)])
        assert table.load("here") == {"a": 1.0}


def test_a_table_that_stays_locked_is_an_error_of_one_sentence(being_made, tmp_path, monkeypatch):
    monkeypatch.setattr("taso_opt.cost.table.BUSY_TIMEOUT_S", 0.05)
    with pytest.raises(InvalidInputError, match=r"cost table at .* found: database is locked"):
        CostTable(tmp_path / "costs.sqlite")


def test_a_killed_writer_leaves_a_readable_table(tmp_path):
    path = tmp_path / "costs.sqlite"
    with writer(path, "unit", 1_000_000) as process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
    with CostTable(path) as table:
        known = table.load("here")
    assert len(known) >= 5
    assert known["unit3"] == 3.0


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    with CostTable():
        assert (tmp_path / "mine" / "costs.sqlite").exists()


def test_decisions_are_kept_for_each_device_until_they_are_cleared(tmp_path):
    path = tmp_path / "costs.sqlite"
    with CostTable(path) as table:
        assert table.decision("cpu", "contest") is None
        table.decide("cpu", "contest", 2)
        table.decide("cuda", "contest", None)
    with CostTable(path) as table:
        assert table.decision("cpu", "contest").winner == 2
        assert table.decision("cuda", "contest").winner is None and table.decision("cuda", "contest").decided_at
        assert table.decision("cpu", "another") is None
        table.decide("cpu", "contest", None)
        assert table.decision("cpu", "contest").winner is None
        table.clear()
        assert table.decision("cpu", "contest") is None


def test_verdicts_are_kept_for_each_device_until_they_are_cleared(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        table.pass_verdict("cpu", "check", "agrees")
        table.pass_verdict("cpu", "check", "agrees with a warning")
    with CostTable(tmp_path / "costs.sqlite") as table:
        assert table.verdict("cpu", "check") == "agrees with a warning"
        assert table.verdict("cuda", "check") is table.verdict("cpu", "another") is None
        table.clear()
        assert table.verdict("cpu", "check") is None


def test_timings_beside_contests_are_kept_for_each_device_until_they_are_cleared(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        table.time_beside("cpu", "contest", "1.1")
        table.time_beside("cpu", "contest", "1.2")
    with CostTable(tmp_path / "costs.sqlite") as table:
        assert table.timed_beside("cpu", "contest").timing == "1.2" and table.timed_beside("cpu", "contest").made_at
        assert table.timed_beside("cuda", "contest") is table.timed_beside("cpu", "another") is None
        table.clear()
        assert table.timed_beside("cpu", "contest") is None


def test_searches_are_kept_for_each_device_until_they_are_forgotten_or_cleared(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        table.remember_search("cpu", "question", b"first")
        table.remember_search("cpu", "question", b"second")
        table.store([CostEntry("cpu", "unit", 1.0, 0.0, 1)])
    with CostTable(tmp_path / "costs.sqlite") as table:
        assert table.search("cpu", "question").found == b"second" and table.search("cpu", "question").made_at
        assert table.search("cuda", "question") is table.search("cpu", "another") is None
        table.forget_searches()
        assert table.search("cpu", "question") is None and table.load("cpu") == {"unit": 1.0}
        table.remember_search("cpu", "question", b"third")
        table.clear()
        assert table.search("cpu", "question") is None


def test_the_last_searches_are_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr("taso_opt.cost.table.MOST_SEARCHES", 2)
    with CostTable(tmp_path / "costs.sqlite") as table:
        for question in ("first", "second", "third"):
            table.remember_search("cpu", question, question.encode())
        kept = [table.search("cpu", question) is not None for question in ("first", "second", "third")]
    assert kept == [False, True, True]


def test_a_table_from_before_decisions_gets_them(tmp_path):
    path = tmp_path / "costs.sqlite"
    with CostTable(path) as table:
        table.store([CostEntry("cpu", "unit", 1.0, 0.0, 1)])
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE decisions")
    connection.close()
    with CostTable(path) as table:
        assert table.load("cpu") == {"unit": 1.0}
        assert table.decision("cpu", "contest") is None
