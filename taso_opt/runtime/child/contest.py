"""The original against its candidates, interleaved, with an A/A control.

The contestants are the original, a second session of the original (the A/A control) and the candidates. All sessions
are created anew, in seeded random order, for each *recreation*, because two sessions of one file can differ by several
percent for as long as they live. A round takes one sample of each contestant in a new random order. Ratios pair the
samples of a round; how they are summed up stands in estimate.py. Where runs take turns among several feeds, which may
differ in what they cost, all contestants run on the same ones in a round, equally often.
"""

import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from taso_opt.errors import TasoError
from taso_opt.runtime.child.engine import Turns, bound_runs, refusals
from taso_opt.runtime.child.sampling import (
    Sample,
    clock_of,
    first_calibration,
    no_garbage_collection,
    repeats_for,
    take_sample,
)
from taso_opt.runtime.estimate import corrected_ratio, paired_ratio, timing_of
from taso_opt.runtime.requests import CompareLatency, Model
from taso_opt.runtime.results import Contestant, Failed, Latency, LatencyComparison
from taso_opt.runtime.settings import RunSettings

ORIGINAL, CONTROL, FIRST_CANDIDATE = 0, 1, 2
LEAST_RECREATIONS, FEWEST_RECREATIONS, CREATING_SHARE = 2, 3, 0.5
"""How many recreations there are in any case, where so many are wanted, since one alone says nothing of its noise; how
many there are at least, time allowing; and what share of the time creating them may take beyond that."""

FEWEST_ROUNDS = 3
"""Where creating leaves no time for so many rounds in each recreation there is one recreation less."""

Samples = NDArray[np.float64]


@dataclass
class _Contest:
    """What accumulates: per recreation, one list of samples for each contestant's number; failures by number."""

    models: tuple[Model, ...]
    recreations: list[dict[int, list[Sample]]] = field(default_factory=list)
    failures: dict[int, str] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Rounds done so far."""
        return sum(len(samples[ORIGINAL]) for samples in self.recreations)


@dataclass(frozen=True)
class _Sessions:
    """What runs the contestants that have not failed, by number, and about how many seconds a run of each takes."""

    runs: dict[int, Turns]
    run_s: dict[int, float]


def compare_latency(request: CompareLatency) -> LatencyComparison:
    """Measure until the rounds are done or the time is up, at least one round of each of two recreations.

    Raises RuntimeFailure for the original. A candidate that does not load or run becomes Failed and the others go on.
    """
    started = time.perf_counter()
    generator = np.random.default_rng(request.settings.seed)
    contest = _Contest((request.original, request.original, *request.candidates))
    recreations = min(request.recreations, request.rounds)
    while (done := len(contest.recreations)) < recreations:
        began = time.perf_counter()
        left_s = started + request.time_limit_s - began
        if done >= LEAST_RECREATIONS and left_s <= 0:
            break
        sessions = _create(contest, request, generator)
        affordable = _affordable(request, time.perf_counter() - began, sessions.run_s)
        recreations = max(min(recreations, affordable), done + 1)
        left = recreations - done
        rounds = math.ceil((request.rounds - contest.rounds) / left)
        _play(contest, request, generator, sessions, rounds, began + left_s / left)
    return _summary(contest, request)


def _affordable(request: CompareLatency, created_s: float, run_s: dict[int, float]) -> int:
    """How many recreations there is time for, where one takes so many seconds to create and runs take so many."""
    played_s = FEWEST_ROUNDS * _round_seconds(run_s, run_s, request.sample_s)
    has_time = FEWEST_RECREATIONS * (created_s + played_s) <= request.time_limit_s
    fewest = FEWEST_RECREATIONS if has_time else LEAST_RECREATIONS
    return max(fewest, int(CREATING_SHARE * request.time_limit_s / max(created_s, 1e-9)))


def _play(
    contest: _Contest,
    request: CompareLatency,
    generator: np.random.Generator,
    sessions: _Sessions,
    rounds: int,
    deadline: float,
) -> None:
    """Up to `rounds` rounds of fresh sessions until the deadline, one round in any case."""
    runs = sessions.runs
    repeats = _repeats(request, sessions.run_s, (deadline - time.perf_counter()) / max(rounds, 1))
    first = int(generator.integers(max(len(request.feeds), 1)))
    for run in runs.values():
        run.begin_at(first)
    samples: dict[int, list[Sample]] = {number: [] for number in runs}
    contest.recreations.append(samples)
    with no_garbage_collection():
        for done in range(rounds):
            if done and time.perf_counter() > deadline:
                break
            for number in generator.permutation(list(runs)).tolist():
                if number not in contest.failures:
                    samples[number] += _visit(contest, number, runs[number], repeats[number], request.settings)


def _create(contest: _Contest, request: CompareLatency, generator: np.random.Generator) -> _Sessions:
    """Fresh sessions of all contestants that have not failed, created in random order."""
    runs: dict[int, Turns] = {}
    run_s: dict[int, float] = {}
    settings = request.settings
    for number in generator.permutation(len(contest.models)).tolist():
        if number in contest.failures:
            continue
        model = contest.models[number]
        try:
            run = Turns(bound_runs(model, request.feeds or (None,), settings, request.optimization))
            with refusals("run", model, settings.runtime):
                run_s[number] = first_calibration(run, clock_of(settings), settings.on_gpu)
        except TasoError as error:
            _fail(contest, number, error)
        else:
            runs[number] = run
    return _Sessions(runs, run_s)


def _repeats(request: CompareLatency, run_s: dict[int, float], round_s: float) -> dict[int, int]:
    """Repeats of each contestant's burst: seconds as requested, or less where a round would not fit `round_s`.

    Among several feeds all contestants have as many as the original.
    """
    paces = dict.fromkeys(run_s, run_s[ORIGINAL]) if len(request.feeds) > 1 else run_s
    sample_s, wanted = request.sample_s, _round_seconds(run_s, paces, request.sample_s)
    if wanted > round_s:
        sample_s *= max(round_s, 0.0) / wanted
    return {number: repeats_for(pace, sample_s) for number, pace in paces.items()}


def _round_seconds(run_s: dict[int, float], paces: dict[int, float], sample_s: float) -> float:
    """How long a round takes in which each contestant runs as often as its pace says, and a little before that."""
    return sum(max(sample_s / paces[number], 1.0) * seconds + seconds for number, seconds in run_s.items())


def _visit(contest: _Contest, number: int, run: Turns, repeats: int, settings: RunSettings) -> list[Sample]:
    """One sample, or none where it fails."""
    try:
        with refusals("run", contest.models[number], settings.runtime):
            return [take_sample(run, repeats, clock_of(settings))]
    except TasoError as error:
        _fail(contest, number, error)
        return []


def _fail(contest: _Contest, number: int, error: TasoError) -> None:
    """Note a candidate's failure; the original's own is the caller's problem."""
    if number < FIRST_CANDIDATE:
        raise error
    contest.failures[number] = str(error)


def _summary(contest: _Contest, request: CompareLatency) -> LatencyComparison:
    candidates: list[Contestant | Failed] = []
    for number in range(FIRST_CANDIDATE, len(contest.models)):
        reason = contest.failures.get(number)
        candidates.append(_contestant(contest, number) if reason is None else Failed(reason))
    return LatencyComparison(
        clock=clock_of(request.settings).name,
        original=_latency(contest, ORIGINAL),
        control=_contestant(contest, CONTROL),
        candidates=tuple(candidates),
        rounds=contest.rounds,
        recreations=len(contest.recreations),
    )


def _contestant(contest: _Contest, number: int) -> Contestant:
    ratios, speedups = [], []
    for clock in (_cpu, _wall):
        clocked = [
            (clock(samples[ORIGINAL]), clock(samples[number]), clock(samples[CONTROL]))
            for samples in contest.recreations
        ]
        ratios.append(paired_ratio([(original, own) for original, own, _ in clocked]))
        speedups.append(corrected_ratio(clocked))
    return Contestant(_latency(contest, number), *ratios, *speedups)


def _latency(contest: _Contest, number: int) -> Latency:
    samples = [sample for recreation in contest.recreations for sample in recreation[number]]
    return Latency(timing_of(_cpu(samples)), timing_of(_wall(samples)))


def _cpu(samples: list[Sample]) -> Samples:
    return np.array([sample.cpu_s for sample in samples], np.float64)


def _wall(samples: list[Sample]) -> Samples:
    return np.array([sample.wall_s for sample in samples], np.float64)
