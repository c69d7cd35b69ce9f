"""Engines that run one function over many pieces of work: this process, or several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any, Protocol, TypeVar

from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.errors import LostProcessError

Work = TypeVar("Work")
Result = TypeVar("Result")
Shared = TypeVar("Shared")


class Engine(Protocol):
    """Something that runs pieces of work: each result is a pure function of its piece, wherever it is made."""

    def each(self, function: Callable[[Work], Result], work: Sequence[Work], /) -> Iterator[tuple[int, Result]]:
        """The results with the places of their pieces, as they are ready."""
        ...

    def spread(
        self, function: Callable[[Shared, Work], Result], shared: Shared, work: Sequence[Work], /
    ) -> Iterator[Result]:
        """The results on something that all pieces need and their own, in the order of the pieces."""
        ...


class Here:
    """This process alone."""

    def each(self, function: Callable[[Work], Result], work: Sequence[Work]) -> Iterator[tuple[int, Result]]:
        """See Engine."""
        return ((place, function(piece)) for place, piece in enumerate(work))

    def spread(
        self, function: Callable[[Shared, Work], Result], shared: Shared, work: Sequence[Work]
    ) -> Iterator[Result]:
        """See Engine."""
        return (function(shared, piece) for piece in work)


@dataclass(frozen=True)
class Processes:
    """Several processes of this machine; what they share lies in a folder of its own."""

    executor: ProcessPoolExecutor
    folder: Path
    written: list[Path] = field(default_factory=list)

    def each(self, function: Callable[[Work], Result], work: Sequence[Work]) -> Iterator[tuple[int, Result]]:
        """See Engine."""
        places: dict[Future[Result], int] = {
            self.executor.submit(function, piece): place for place, piece in enumerate(work)
        }
        for future in as_completed(places):
            yield places.pop(future), future.result()

    def spread(
        self, function: Callable[[Shared, Work], Result], shared: Shared, work: Sequence[Work]
    ) -> Iterator[Result]:
        """See Engine."""
        path = self.folder / f"shared{len(self.written)}"
        path.write_bytes(pickle.dumps(shared))
        self.written.append(path)
        futures = [self.executor.submit(_with_shared, function, path, piece) for piece in work]
        for place in range(len(futures)):
            yield futures[place].result()
            futures[place] = Future()  # its result may be large
        path.unlink()


def _with_shared(function: Callable[[Any, Work], Result], path: Path, piece: Work) -> Result:
    return function(_shared(path), piece)


@lru_cache(1)
def _shared(path: Path) -> Any:
    """What the process that started this one wrote, read once."""
    # `spread` wrote it, into a folder that only this user can open.
    return pickle.loads(path.read_bytes())  # noqa: S301


@contextmanager
def processes(count: int) -> Iterator[Engine]:
    """An engine of `count` processes; with one it is this process."""
    if count == 1:
        yield Here()
        return
    # A fresh interpreter for each process: forking one that has threads is unsafe.
    context = multiprocessing.get_context("spawn")
    with scratch_folder() as folder, ProcessPoolExecutor(count, context, _end_with_parent) as executor:
        try:
            yield Processes(executor, folder)
        except BrokenProcessPool as error:
            raise LostProcessError(
                f"expected {count} processes to go on working, found one ended from outside, as a system does that is "
                "short of memory: fewer --jobs need less, and --resume goes on from what is done"
            ) from error
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, killed say: nobody would ever give it work again.

    An interruption from the keyboard reaches all processes; the one that started this one tells the user.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "expected a process that another one started"
    parent.join()
    os._exit(1)
