"""Times of many small models in interleaved rounds.

Sessions are created in seeded random order (the first one created reads up to 5% slow) and all live at once, so that
each round visits every model once, in a new random order, and a slow spell of the machine touches all alike.
"""

import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.errors import TasoError
from taso_opt.runtime.child.engine import Run, bound_runs, refusals
from taso_opt.runtime.child.parts import part_of
from taso_opt.runtime.child.sampling import Clock, calibrate, clock_of, no_garbage_collection, repeats_for, take_sample
from taso_opt.runtime.estimate import timing_of
from taso_opt.runtime.inputs import ENOUGH_DIFFERENT
from taso_opt.runtime.requests import MeasureItem, MeasureMany, MeasurePlan
from taso_opt.runtime.results import Absent, Failed, Measured
from taso_opt.runtime.settings import RunSettings

FEWEST_SAMPLES = 3

BESIDE_SESSIONS = 3
"""Of the model that is timed beside all others: sessions of one model differ by a few percent, and all hang on it.
They live on from batch to batch, so that all batches are measured by the same ones."""


@dataclass
class _Entrant:
    """A model ready to run, which takes about `run_s` seconds; `failure` is what it failed with while it was timed."""

    item: MeasureItem
    run: Run
    run_s: float
    layouts: str
    repeats: int = 1
    samples: list[float] = field(default_factory=list)
    spent_s: float = 0.0
    failure: Failed | None = None


def measure_many(request: MeasureMany) -> dict[str, Measured]:
    """A Timing for each key, Failed with the reason or Absent; the order of the answer is that of the request."""
    generator = np.random.default_rng(request.settings.seed)
    # 1. Create, run once and calibrate, in random order.
    entries: dict[int, _Entrant | Failed | Absent] = {}
    with scratch_folder() as folder:
        for place in map(int, generator.permutation(len(request.items))):
            entries[place] = _entry(request.items[place], request, folder / "lowered.onnx")
    beside = _beside(request)
    entrants = [*beside, *(entry for entry in entries.values() if isinstance(entry, _Entrant))]
    # 2. Interleaved rounds, each in a new random order.
    clock = clock_of(request.settings)
    with no_garbage_collection():
        for _ in range(request.plan.rounds):
            for place in map(int, generator.permutation(len(entrants))):
                wanted = place < len(beside) or _wants_more(entrants[place], request.plan)
                if wanted and entrants[place].failure is None:
                    _visit(entrants[place], clock, request.settings.runtime)
    # 3. Medians.
    times = [timing_of(one.samples).quiet_s for one in beside if one.failure is None]
    beside_s = float(np.median(times)) if times else None
    return {item.key: _result(entries[place], beside_s) for place, item in enumerate(request.items)}


def _result(entry: _Entrant | Failed | Absent, beside_s: float | None) -> Measured:
    if not isinstance(entry, _Entrant):
        return entry
    return entry.failure or replace(timing_of(entry.samples), layouts=entry.layouts, beside_s=beside_s)


def _beside(request: MeasureMany) -> list[_Entrant]:
    """The sessions of the model beside all others, not yet timed; none where there is no such model that runs."""
    if request.beside is None:
        return []
    try:
        standing = _standing(request.beside, request.settings, request.optimization)
    except TasoError:
        return []
    return [_in_bursts(one, request.plan) for one in standing]


@lru_cache(maxsize=1)
def _standing(item: MeasureItem, settings: RunSettings, optimization: str) -> tuple[_Entrant, ...]:
    """Sessions of a model that is timed in many batches; raises as `_entered` does."""
    with scratch_folder() as folder:
        path = folder / "lowered.onnx"
        entered = [_entered(item, settings, optimization, path) for _ in range(BESIDE_SESSIONS)]
    return tuple(one for one in entered if one is not None)


def _entry(item: MeasureItem, request: MeasureMany, path: Path) -> _Entrant | Failed | Absent:
    try:
        entrant = _entered(item, request.settings, request.optimization, path)
    except TasoError as error:
        return Failed(str(error))
    return Absent() if entrant is None else _in_bursts(entrant, request.plan)


def _entered(item: MeasureItem, settings: RunSettings, optimization: str, path: Path) -> _Entrant | None:
    """An item ready to run, which has run; None where the runtime makes nothing of its kind of it.

    `path` is that of a file to be written over. Raises TasoError for what does not load or run.
    """
    part = part_of(item, optimization, settings, path)
    if part is None:
        return None
    (run,) = bound_runs(
        part.model, [item.inputs], settings, part.optimization, ENOUGH_DIFFERENT, part.weights, item.below
    )
    with refusals("run", item.model, settings.runtime):
        run()
        return _Entrant(item, run, calibrate(run, clock_of(settings)), part.layouts)


def _in_bursts(entrant: _Entrant, plan: MeasurePlan) -> _Entrant:
    """An entrant for one batch, with runs enough for each sample."""
    repeats = repeats_for(entrant.run_s, plan.sample_s)
    # A burst of a single run is no different from a sample, and of a long kernel each run counts.
    return replace(entrant, repeats=repeats, samples=[entrant.run_s] if repeats == 1 else [])


def _wants_more(entrant: _Entrant, plan: MeasurePlan) -> bool:
    if len(entrant.samples) < FEWEST_SAMPLES:
        return True
    shortest = sorted(entrant.samples)[:FEWEST_SAMPLES]
    return entrant.spent_s < plan.model_s and shortest[-1] > (1 + plan.agreement) * shortest[0]


def _visit(entrant: _Entrant, clock: Clock, runtime: str) -> None:
    """Take one sample more."""
    start = time.perf_counter()
    try:
        with refusals("run", entrant.item.model, runtime):
            sample = take_sample(entrant.run, entrant.repeats, clock)
    except TasoError as error:
        entrant.failure = Failed(str(error))
        return
    entrant.samples.append(sample.on(clock.name))
    entrant.spent_s += time.perf_counter() - start
