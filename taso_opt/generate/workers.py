"""Runs one function over many pieces of work, here or in other processes, and returns the results in order."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")


class Run(Protocol):
    """Like `map`: the results of a function on pieces of work, in their order."""

    def __call__(self, function: Callable[[Work], Result], work: Sequence[Work], /) -> Iterator[Result]: ...


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers(count: int) -> Iterator[Run]:
    """A function like `map` that spreads its work over `count` processes; with one it stays in this process."""
    if count == 1:
        yield map
        return
    # A fresh interpreter for each process: forking one that has threads is unsafe.
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as executor:
        yield executor.map
