"""Samples of one prepared model on two clocks, and how often to repeat it.

The *CPU clock* is the processor time of the calling thread: at one thread all work of ONNX Runtime happens there, and
other programs on the machine disturb it little. OpenVINO mostly does the same, but decides itself what it leaves to
threads of its own, so that there it is the time of the process, which does nothing else. The *wall clock* is what
counts as soon as several threads or a GPU work.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat

from taso_opt.runtime.child.engine import Run
from taso_opt.runtime.settings import ONNXRUNTIME, RunSettings

MOST_REPEATS = 100_000
LONG_ENOUGH_S = 1e-4
CERTAINLY_LONG_S = 5e-3
TELLING_S = 0.05
"""Of which new pages of memory, and weights that are read for the first time, are a small part."""

WARMING_SHARE = 8
"""Untimed runs for each timed one: far caches take several runs to fill again."""


@dataclass(frozen=True)
class Sample:
    """Mean seconds of one run over a burst, on both clocks."""

    cpu_s: float
    wall_s: float

    def on(self, clock: str) -> float:
        """The reading of the clock named 'cpu' or 'wall'."""
        return self.cpu_s if clock == "cpu" else self.wall_s


@dataclass(frozen=True)
class Clock:
    """The clock that decides, 'cpu' or 'wall', and what reads the processor time in seconds."""

    name: str
    cpu_s: Callable[[], float]


def clock_of(settings: RunSettings) -> Clock:
    """The clocks for a runtime; 'cpu' decides at one thread on the CPU, otherwise 'wall'."""
    name = "cpu" if settings.threads == 1 and not settings.on_gpu else "wall"
    return Clock(name, time.thread_time if settings.runtime == ONNXRUNTIME else time.process_time)


def take_sample(run: Run, repeats: int, clock: Clock) -> Sample:
    """One burst of `repeats` runs; a burst of several is preceded by untimed runs, which warm the caches."""
    if repeats > 1:
        _burst(run, 1 + repeats // WARMING_SHARE, clock)
    return _burst(run, repeats, clock)


def calibrate(run: Run, clock: Clock) -> float:
    """About how many seconds one run takes on a clock, from bursts that double until they last 100 us.

    A burst that another program interrupted looks long enough too early, so a second one has to confirm it, unless
    the run is so long that an interruption changes little.
    """
    repeats = 1
    while True:
        seconds = _burst(run, repeats, clock).on(clock.name)
        if LONG_ENOUGH_S <= seconds * repeats < CERTAINLY_LONG_S:
            seconds = min(seconds, _burst(run, repeats, clock).on(clock.name))
        if seconds * repeats >= LONG_ENOUGH_S or repeats >= MOST_REPEATS:
            return max(seconds, 1e-9)
        repeats *= 2


def first_calibration(run: Run, clock: Clock, on_gpu: bool) -> float:
    """The same of what has not run yet. Where the first run is long, it tells; on a GPU it also compiles."""
    first_s = _burst(run, 1, clock).on(clock.name)
    return first_s if first_s >= TELLING_S and not on_gpu else calibrate(run, clock)


def repeats_for(run_s: float, sample_s: float) -> int:
    """How many runs make a burst of `sample_s` seconds, at least one."""
    return min(MOST_REPEATS, max(1, round(sample_s / run_s)))


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep Python's collector out of the samples."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _burst(run: Run, repeats: int, clock: Clock) -> Sample:
    wall, cpu = time.perf_counter(), clock.cpu_s()
    for _ in repeat(None, repeats):
        run()
    cpu, wall = clock.cpu_s() - cpu, time.perf_counter() - wall
    return Sample(cpu / repeats, wall / repeats)
