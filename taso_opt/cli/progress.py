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
