"""What was measured here and what came of it, in one SQLite file that survives crashes and concurrent runs."""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from platformdirs import user_cache_path

from taso_opt.errors import InvalidInputError

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
MOST_SEARCHES = 500
"""How many searches are remembered, the last ones; each takes up to 100 KB."""

BUSY_TIMEOUT_S = 30.0
BUSY_PAUSE_S = 0.01
CACHE_VARIABLE = "TASOOPT_CACHE"
FILE_NAME = "costs.sqlite"


@dataclass(frozen=True)
class CostEntry:
    """One measured unit: seconds (lower quartile; infinite when the runtime refused it), spread, samples, and when."""

    device: str
    unit: str
    seconds: float
    spread: float
    samples: int
    measured_at: str = ""


@dataclass(frozen=True)
class Decision:
    """How a contest of whole models ended: the number of the winner, None where the original stayed ahead, and when."""

    winner: int | None
    decided_at: str


@dataclass(frozen=True)
class FoundBefore:
    """What a search has found, as bytes that only the search can read, and when."""

    found: bytes
    made_at: str


@dataclass(frozen=True)
class TimedBefore:
    """What was timed beside a contest, as text that only who timed it can read, and when."""

    timing: str
    made_at: str


def cache_folder() -> Path:
    """Where costs are kept: the folder that TASOOPT_CACHE names, or the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else user_cache_path("tasoopt")


class CostTable:
    """A context manager over the table; whatever is written is there for the next run, whatever happens to this one.

    A file that is no cost table, or one of another version, is moved aside with a warning. Raises InvalidInputError
    when no file can be opened at all.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / FILE_NAME
        self._connection = self._open()

    def __enter__(self) -> CostTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self._connection.close()

    def load(self, device: str) -> dict[str, float]:
        """Seconds by unit for one device."""
        rows = self._connection.execute("SELECT unit, seconds FROM costs WHERE device = ?", (device,))
        return {unit: math.inf if seconds is None else seconds for unit, seconds in rows}

    def store(self, entries: Iterable[CostEntry]) -> None:
        """Add entries in one transaction, replacing older ones of the same unit."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [
            (entry.device, entry.unit, _finite(entry.seconds), _finite(entry.spread), entry.samples, now)
            for entry in entries
        ]
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?, ?, ?)", rows)

    def entries(self) -> Iterator[CostEntry]:
        """Everything in the table, newest first."""
        columns = "device, unit, seconds, spread, samples, measured_at"
        for row in self._connection.execute(f"SELECT {columns} FROM costs ORDER BY measured_at DESC, device, unit"):
            device, unit, seconds, spread, samples, measured_at = row
            yield CostEntry(device, unit, math.inf if seconds is None else seconds, spread or 0.0, samples, measured_at)

    def decision(self, device: str, contest: str) -> Decision | None:
        """How a contest ended on a device; None for one that was never held there."""
        query = "SELECT winner, decided_at FROM decisions WHERE device = ? AND contest = ?"
        row = self._connection.execute(query, (device, contest)).fetchone()
        return None if row is None else Decision(*row)

    def decide(self, device: str, contest: str, winner: int | None) -> None:
        """Remember how a contest ended, in place of how it ended before."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing():
            self._connection.execute(
                "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?)", (device, contest, winner, now)
            )

    def search(self, device: str, question: str) -> FoundBefore | None:
        """What a search on a device has found; None for one that was never made there."""
        query = "SELECT found, made_at FROM searches WHERE device = ? AND question = ?"
        row = self._connection.execute(query, (device, question)).fetchone()
        return None if row is None else FoundBefore(*row)

    def remember_search(self, device: str, question: str, found: bytes) -> None:
        """Remember what a search has found, in place of what it found before, and forget the oldest of too many."""
        row = device, question, found, datetime.now(UTC).isoformat(timespec="seconds")
        newest = "SELECT rowid FROM searches ORDER BY made_at DESC, rowid DESC LIMIT ?"
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?, ?)", row)
            self._connection.execute(f"DELETE FROM searches WHERE rowid NOT IN ({newest})", (MOST_SEARCHES,))

    def forget_searches(self) -> None:
        """Forget what searches have found: the next ones go their way again, with the costs that are known."""
        with self._writing():
            self._connection.execute("DELETE FROM searches")

    def verdict(self, device: str, check: str) -> str | None:
        """What a check on a device has ended with; None where there was none that ended well."""
        query = "SELECT verdict FROM verdicts WHERE device = ? AND check_digest = ?"
        row = self._connection.execute(query, (device, check)).fetchone()
        return None if row is None else str(row[0])

    def pass_verdict(self, device: str, check: str, verdict: str) -> None:
        """Remember what a check has ended with."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (device, check, verdict))

    def timed_beside(self, device: str, contest: str) -> TimedBefore | None:
        """What was timed beside a contest on a device; None where nothing was."""
        query = "SELECT timing, made_at FROM timings WHERE device = ? AND contest = ?"
        row = self._connection.execute(query, (device, contest)).fetchone()
        return None if row is None else TimedBefore(*row)

    def time_beside(self, device: str, contest: str, timing: str) -> None:
        """Remember what was timed beside a contest, in place of what was timed before."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing():
            self._connection.execute(
                "INSERT OR REPLACE INTO timings VALUES (?, ?, ?, ?)", (device, contest, timing, now)
            )

    def clear(self) -> int:
        """Forget everything; the number of costs there were."""
        with self._connection:
            self._connection.execute("DELETE FROM decisions")
            self._connection.execute("DELETE FROM searches")
            self._connection.execute("DELETE FROM timings")
            self._connection.execute("DELETE FROM verdicts")
            return self._connection.execute("DELETE FROM costs").rowcount

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction; where the disk is full, say, what is measured is good for this run alone."""
        try:
            with self._connection:
                yield
        except sqlite3.Error as error:
            log.warning("the table of costs at %s cannot be written, and is not: %s", self.path, error)

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._connected_in_turn()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                self._move_aside(error)
                return self._connected()
        except (OSError, sqlite3.OperationalError) as error:
            elsewhere = f"{CACHE_VARIABLE} names another folder"
            raise InvalidInputError(f"expected a cost table at {self.path}, found: {error} ({elsewhere})") from error

    def _move_aside(self, error: sqlite3.DatabaseError) -> None:
        aside = self.path.with_name(f"{self.path.name}.broken")
        log.warning("%s is no cost table (%s): moved to %s, starting anew", self.path, error, aside.name)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        os.replace(self.path, aside)

    def _connected_in_turn(self) -> sqlite3.Connection:
        """SQLite refuses at once, without its timeout, where another process turns the same new file to WAL."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                return self._connected()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(BUSY_PAUSE_S)

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S)
        with _closing_on_error(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, SCHEMA_VERSION):
                raise sqlite3.DatabaseError(f"version {version}, expected {SCHEMA_VERSION}")
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS costs (device TEXT, unit TEXT, seconds REAL, spread REAL, "
                "samples INTEGER, measured_at TEXT, PRIMARY KEY (device, unit)) WITHOUT ROWID"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS decisions (device TEXT, contest TEXT, winner INTEGER, decided_at TEXT, "
                "PRIMARY KEY (device, contest)) WITHOUT ROWID"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS searches (device TEXT, question TEXT, found BLOB, made_at TEXT, "
                "PRIMARY KEY (device, question))"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS timings (device TEXT, contest TEXT, timing TEXT, made_at TEXT, "
                "PRIMARY KEY (device, contest)) WITHOUT ROWID"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS verdicts (device TEXT, check_digest TEXT, verdict TEXT, "
                "PRIMARY KEY (device, check_digest)) WITHOUT ROWID"
            )
            if version != SCHEMA_VERSION:
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.commit()
        return connection


@contextmanager
def _closing_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error:
        connection.close()
        raise


def _finite(value: float) -> float | None:
    """SQLite has no infinity; NULL stands for it."""
    return value if math.isfinite(value) else None
