"""Times of many small models in interleaved rounds.

Sessions are created in seeded random order (the first one created reads up to 5% slow) and all live at once, so that
each round visits every model once, in a new random order, and a slow spell of the machine touches all alike.
"""

import time
from dataclasses import dataclass, field, replace
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
from taso_opt.runtime.results import Absent, Failed, Measured, Timing

FEWEST_SAMPLES = 3

BESIDE_SESSIONS = 3
"""Of the model that is timed beside all others: sessions of one model differ by a few percent, and all hang on it."""


@dataclass
class _Entrant:
    item: MeasureItem
    run: Run
    repeats: int
    layouts: str
    samples: list[float] = field(default_factory=list)
    spent_s: float = 0.0


def measure_many(request: MeasureMany) -> dict[str, Measured]:
    """A Timing for each key, Failed with the reason or Absent; the order of the answer is that of the request."""
    generator = np.random.default_rng(request.settings.seed)
    clock = clock_of(request.settings)
    results: dict[int, Measured] = {}
    items = [*request.items, *([request.beside] * BESIDE_SESSIONS if request.beside is not None else [])]
    beside = range(len(request.items), len(items))
    # 1. Create, run once and calibrate, in random order.
    entrants: dict[int, _Entrant] = {}
    with scratch_folder() as folder:
        for place in map(int, generator.permutation(len(items))):
            entrant = _entered(items[place], request, folder / "lowered.onnx")
            if isinstance(entrant, _Entrant):
                entrants[place] = entrant
            else:
                results[place] = entrant
    # 2. Interleaved rounds, each in a new random order.
    with no_garbage_collection():
        for _ in range(request.plan.rounds):
            for place in map(int, generator.permutation(list(entrants))):
                if place not in results and (place in beside or _wants_more(entrants[place], request.plan)):
                    _visit(entrants[place], clock, request.settings.runtime, results, place)
    # 3. Medians.
    for place, entrant in entrants.items():
        results.setdefault(place, replace(timing_of(entrant.samples), layouts=entrant.layouts))
    times = [result.quiet_s for result in map(results.__getitem__, beside) if isinstance(result, Timing)]
    beside_s = float(np.median(times)) if times else None
    return {item.key: _beside(results[place], beside_s) for place, item in enumerate(request.items)}


def _beside(result: Measured, beside_s: float | None) -> Measured:
    return replace(result, beside_s=beside_s) if isinstance(result, Timing) else result


def _entered(item: MeasureItem, request: MeasureMany, path: Path) -> _Entrant | Failed | Absent:
    """An item ready to run and calibrated; `path` is that of a file to be written over."""
    settings = request.settings
    try:
        part = part_of(item, request.optimization, settings, path)
        if part is None:
            return Absent()
        (run,) = bound_runs(
            part.model, [item.inputs], settings, part.optimization, ENOUGH_DIFFERENT, part.weights, item.below
        )
        with refusals("run", item.model, settings.runtime):
            run()
            run_s = calibrate(run, clock_of(settings))
    except TasoError as error:
        return Failed(str(error))
    repeats = repeats_for(run_s, request.plan.sample_s)
    # A burst of a single run is no different from a sample, and of a long kernel each run counts.
    return _Entrant(item, run, repeats, part.layouts, [run_s] if repeats == 1 else [])


def _wants_more(entrant: _Entrant, plan: MeasurePlan) -> bool:
    if len(entrant.samples) < FEWEST_SAMPLES:
        return True
    shortest = sorted(entrant.samples)[:FEWEST_SAMPLES]
    return entrant.spent_s < plan.model_s and shortest[-1] > (1 + plan.agreement) * shortest[0]


def _visit(entrant: _Entrant, clock: Clock, runtime: str, results: dict[int, Measured], place: int) -> None:
    start = time.perf_counter()
    try:
        with refusals("run", entrant.item.model, runtime):
            sample = take_sample(entrant.run, entrant.repeats, clock)
    except TasoError as error:
        results[place] = Failed(str(error))
        return
    entrant.samples.append(sample.on(clock.name))
    entrant.spent_s += time.perf_counter() - start
