"""One line of progress on stderr while something long runs; silent when stderr is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str], None]


@contextmanager
def stderr_progress() -> Iterator[Report]:
    """A function that shows what is being done now, beside the time that has passed, on one line of any terminal."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    told = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
    clock = TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7))
    bar = Progress(SpinnerColumn(), clock, told, console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda message: bar.update(task, description=message, refresh=True)


class Pace:
    """Tells how fast a stage goes and how long it will go on, from what is done of it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stage, self._start, self._before = "", clock(), 0

    def line(self, stage: str, done: int, count: int) -> str:
        """What is done, with the rate and the time that is left once there is something to judge by.

        What was done before the first call of a stage, by an earlier run, does not count for its rate.
        """
        now = self._clock()
        if stage != self._stage:
            self._stage, self._start, self._before = stage, now, done
        seconds, made = now - self._start, done - self._before
        if seconds <= 0 or made <= 0:
            return f"{stage}: {done} of {count}"
        rate = made / seconds
        return f"{stage}: {done} of {count}, {rate:.3g} a second, {_duration((count - done) / rate)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
