"""One line of progress on stderr while something long runs; silent when stderr is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str], None]


@contextmanager
def stderr_progress() -> Iterator[Report]:
    """A function that shows what is being done now."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda message: status.update(message)
