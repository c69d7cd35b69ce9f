"""Times of many small models in interleaved rounds; imported in the child process only.

Sessions are created in seeded random order (the first one created reads up to 5% slow) and all live at once, so that
each round visits every model once, in a new random order, and a slow spell of the machine touches all alike.
"""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from taso_opt.errors import TasoError
from taso_opt.runtime.engine import Run, ready_run, refusals
from taso_opt.runtime.estimate import timing_of
from taso_opt.runtime.requests import MeasureItem, MeasureMany
from taso_opt.runtime.results import Failed, Timing
from taso_opt.runtime.sampling import Clock, calibrate, clock_of, no_garbage_collection, repeats_for, take_sample

FEWEST_SAMPLES = 3


@dataclass
class _Entrant:
    item: MeasureItem
    run: Run
    repeats: int
    samples: list[float] = field(default_factory=list)
    spent_s: float = 0.0


def measure_many(request: MeasureMany) -> dict[str, Timing | Failed]:
    """A Timing for each key, or Failed with the reason; the order of the answer is that of the request."""
    generator = np.random.default_rng(request.settings.seed)
    clock = clock_of(request.settings)
    results: dict[str, Timing | Failed] = {}
    items = [*request.items, *([request.beside] if request.beside is not None else [])]
    # 1. Create, run once and calibrate, in random order.
    entrants: dict[str, _Entrant] = {}
    for place in generator.permutation(len(items)):
        item = items[place]
        try:
            entrants[item.key] = _enter(item, request)
        except TasoError as error:
            results[item.key] = Failed(str(error))
    # 2. Interleaved rounds, each in a new random order.
    keys = list(entrants)
    with no_garbage_collection():
        for _ in range(request.plan.rounds):
            for place in generator.permutation(len(keys)):
                entrant = entrants[keys[place]]
                if keys[place] not in results and _wants_more(entrant, request.plan.model_s):
                    _visit(entrant, clock, request.settings.runtime, results)
    # 3. Medians.
    for key, entrant in entrants.items():
        results.setdefault(key, timing_of(entrant.samples))
    beside = results[request.beside.key] if request.beside is not None else None
    beside_s = beside.quiet_s if isinstance(beside, Timing) else None
    return {item.key: _beside(results[item.key], beside_s) for item in request.items}


def _beside(result: Timing | Failed, beside_s: float | None) -> Timing | Failed:
    return replace(result, beside_s=beside_s) if isinstance(result, Timing) else result


def _enter(item: MeasureItem, request: MeasureMany) -> _Entrant:
    settings = request.settings
    run = ready_run(item.model, [item.inputs], settings, "none" if item.lowered else request.optimization)
    with refusals("run", item.model, settings.runtime):
        return _Entrant(item, run, repeats_for(calibrate(run, clock_of(settings)), request.plan.sample_s))


def _wants_more(entrant: _Entrant, model_s: float) -> bool:
    return entrant.spent_s < model_s or len(entrant.samples) < FEWEST_SAMPLES


def _visit(entrant: _Entrant, clock: Clock, runtime: str, results: dict[str, Timing | Failed]) -> None:
    start = time.perf_counter()
    try:
        with refusals("run", entrant.item.model, runtime):
            sample = take_sample(entrant.run, entrant.repeats, clock)
    except TasoError as error:
        results[entrant.item.key] = Failed(str(error))
        return
    entrant.samples.append(sample.on(clock.name))
    entrant.spent_s += time.perf_counter() - start
