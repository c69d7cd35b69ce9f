"""The last word on a search: its best graphs are run, compared and timed against the original, whole model by model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from taso_opt.errors import MismatchError, RuntimeFailure, UncheckableError
from taso_opt.runtime import (
    CompareLatency,
    Contestant,
    Failed,
    LatencyComparison,
    Model,
    RunSettings,
    RuntimeProcess,
    compare_latency,
)
from taso_opt.search.judging.agreement import Agreement, Feed, Verdicts, agreement

TOO_SLOW = "it was measured no faster than the original"
MOST_LOSERS = 2
"""How many candidates are timed alone where latency counts, of those that the heat or the prediction favours."""

HEAT_ROUNDS, HEAT_RECREATIONS, HEAT_LIMIT_S = 8, 1, 2.0
ROUND_ERROR = 0.1
"""By which share the ratio of one round of the heat may be off; that of several by less, as their square root grows."""

HEAT_BYTES = 768 << 20
"""Of weights that the sessions of a heat may hold at once; candidates beyond that are left to their prediction."""

FINAL_LIMIT_S, CHAMPION_LIMIT_S = 8.0, 4.0
"""Of the measurement alone; a slow model gets fewer rounds in it, and so a wider interval to stay clear of. A champion
has been measured before."""

UNDECIDED_GAIN = 1.01
LONG_ROUNDS, LONG_RECREATIONS, LONG_LIMIT_S = 60, 10, 24.0
"""Where a gain of so much is measured and noise may explain it, a second measurement of this length decides alone.

Where the trial's time is nearly up it is shorter, but never shorter than the first.
"""

Judge = Callable[[LatencyComparison, Contestant], bool]

GRACE_S = 120.0
"""For loading models and for the rounds that are always run, beyond these limits."""


@dataclass(frozen=True)
class Standard:
    """What decides between candidates: the weight of their measured latency, and what else each of them costs.

    `rest` has one entry for each candidate, none where latency is all; `original` is the original's. A candidate that
    is slower than the original beyond the noise loses whatever else it saves, unless `allow_slower`.
    """

    latency: float = 1.0
    rest: tuple[float, ...] = ()
    original: float = 0.0
    allow_slower: bool = False

    def score(self, number: int, ratio: float) -> float:
        """The cost of a candidate whose measured speed-up is `ratio`; the lower the better."""
        return self.latency / ratio + (self.rest[number] if self.rest else 0.0)

    def is_met(self, number: int, latency: LatencyComparison, found: Contestant) -> bool:
        """Whether a candidate is better than the original by more than the noise."""
        if not self.keeps(latency, found):
            return False
        surely = min(latency.speedup(found).low, latency.corrected(found) / latency.noise)
        return self.score(number, surely) < self.latency + self.original

    def is_open(self, number: int, latency: LatencyComparison, found: Contestant) -> bool:
        """Whether a candidate would be clearly better than the original if the measured speed-up were its own."""
        return self.score(number, latency.corrected(found) / UNDECIDED_GAIN) < self.latency + self.original

    def keeps(self, latency: LatencyComparison, found: Contestant) -> bool:
        """Whether a candidate that has won before may stay the winner."""
        return self.allow_slower or not is_behind(latency, found)


FASTEST = Standard()


def is_behind(latency: LatencyComparison, found: Contestant) -> bool:
    """Whether the whole interval lies below 1 and the corrected ratio is below what noise explains."""
    return latency.speedup(found).high < 1.0 and latency.corrected(found) * latency.noise < 1.0


@dataclass(frozen=True)
class FailedCheck:
    """The evidence of a MismatchError: the candidate's number and how far it is from the original."""

    number: int
    agreement: Agreement


@dataclass(frozen=True)
class Finalist:
    """The fastest candidate that can be compared: its number, its agreement, its latency and whether it won."""

    number: int
    agreement: Agreement
    latency: LatencyComparison
    contestant: Contestant
    won: bool


@dataclass(frozen=True)
class Finals:
    """The finalist, None where no candidate could be compared, and why the candidates before it dropped out."""

    finalist: Finalist | None
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """On what models are compared (`feeds`) and timed (`timing`), and how they run.

    `singles` tells that float64 outputs come from float32 and are judged as such; `rounds` that the model quantizes,
    where a difference need not mean a wrong rule: such a candidate drops out. At `deadline`, by the monotonic clock,
    the user waits no longer for more certainty. The original has so many `weight_bytes`, and the largest candidate so
    many `folded_bytes` when its constants are folded: in tiles weights take several times as much. `verdicts` remember
    checks of the same.
    """

    feeds: Sequence[Feed]
    timing: tuple[Feed, ...]
    settings: RunSettings
    singles: bool = False
    rounds: bool = False
    deadline: float = math.inf
    weight_bytes: int = 0
    folded_bytes: int = 0
    verdicts: Verdicts | None = None

    @property
    def is_late(self) -> bool:
        """Whether the deadline leaves no time to time another candidate."""
        return time.monotonic() + FINAL_LIMIT_S > self.deadline

    @property
    def patience_s(self) -> float:
        """How many seconds a measurement may take that is there for more certainty."""
        return min(max(self.deadline - time.monotonic(), FINAL_LIMIT_S), LONG_LIMIT_S)

    @property
    def most_at_once(self) -> int:
        """How many candidates there is room for beside the original and its control, at least one.

        What folding adds is there twice while the runtime folds.
        """
        candidate = self.weight_bytes + 2 * max(self.folded_bytes - self.weight_bytes, 0)
        return max((HEAT_BYTES - 2 * self.weight_bytes) // max(candidate, 1), 1)


def hold_finals(
    process: RuntimeProcess,
    original: Model,
    candidates: Sequence[Model],
    trial: Trial,
    standard: Standard = FASTEST,
    champion: int | None = None,
    heard: Callable[[str], None] = lambda message: None,
) -> Finals:
    """Find the best candidate in a short heat, compare its outputs, and time it alone against the original.

    Candidates stand in the order of their predicted costs, which decides where the heat cannot; one that is never run
    is never asked for. Where the best loses, the fastest of the heat, or else the first candidate, gets its chance if
    there is time. One wins if it meets the standard. A `champion`, the winner of earlier finals of the same, runs
    alone, and wins unless it is behind now. The heat's figures are not used again: the best of several noisy ones is
    mostly too good. `heard` takes what is done now. Raises MismatchError when who is timed computes something else,
    UncheckableError when the original fails.
    """
    heat = _heat(process, original, candidates, trial, standard, champion, heard)
    dropped, losers = list(heat.dropped), list[Finalist]()
    for number in heat.order:
        candidate = candidates[number]
        heard(f"checking the outputs of candidate {number + 1}")
        agreed, objections = _compared(process, original, candidate, number, trial)
        if objections:
            dropped.append(objections[0])
            continue
        latency, won = _final(process, original, candidate, trial, _terms(standard, number, champion), heard)
        (found,) = latency.candidates
        if isinstance(found, Failed):
            dropped.append(found.reason)
            continue
        finalist = Finalist(number, agreed, latency, found, won)
        if won:
            return Finals(finalist, tuple(dropped))
        losers.append(finalist)
        if len(losers) >= heat.chances or (standard.latency > 0 and trial.is_late):
            break
        dropped.append(TOO_SLOW)
    return Finals(losers[0] if losers else None, tuple(dropped))


def _compared(
    process: RuntimeProcess, original: Model, candidate: Model, number: int, trial: Trial
) -> tuple[Agreement, list[str]]:
    """How far a candidate's outputs agree with the original's, and what speaks against it."""
    agreed = agreement(process, original, candidate, trial.feeds, trial.settings, trial.singles, trial.verdicts)
    if agreed.reasons and not trial.rounds:
        raise _mismatch(number, agreed)
    return agreed, [agreed.failure] if agreed.failure else [*agreed.reasons, *agreed.elsewhere]


def _mismatch(number: int, agreed: Agreement) -> MismatchError:
    message = f"candidate {number + 1} does not compute what the model computes: {agreed.reasons[0]}"
    return MismatchError(message, FailedCheck(number, agreed))


def _final(
    process: RuntimeProcess,
    original: Model,
    candidate: Model,
    trial: Trial,
    terms: _Terms,
    heard: Callable[[str], None],
) -> tuple[LatencyComparison, bool]:
    """The candidate in turns with the original, for longer where noise may explain that it is ahead; whether it won."""
    heard("timing this candidate in turns with the original")
    request = CompareLatency(original, (candidate,), trial.timing, trial.settings, time_limit_s=terms.limit_s)
    latency, won = _judged(process, request, terms.has_won)
    (found,) = latency.candidates
    if won or isinstance(found, Failed) or not terms.is_open(latency, found):
        return latency, won
    heard("timing it once more for longer, since noise may explain the gain")
    longer = replace(request, rounds=LONG_ROUNDS, recreations=LONG_RECREATIONS, time_limit_s=trial.patience_s)
    return _judged(process, longer, terms.has_won)


@dataclass(frozen=True)
class _Terms:
    """On what terms a candidate is timed: what tells whether it has won, and whether it may yet, and for how long."""

    has_won: Judge
    is_open: Judge
    limit_s: float


def _terms(standard: Standard, number: int, champion: int | None) -> _Terms:
    is_open = partial(standard.is_open, number)
    if champion is None:
        return _Terms(partial(standard.is_met, number), is_open, FINAL_LIMIT_S)
    return _Terms(standard.keeps, is_open, CHAMPION_LIMIT_S)


def _judged(process: RuntimeProcess, request: CompareLatency, judge: Judge) -> tuple[LatencyComparison, bool]:
    latency = _timed(process, request)
    (found,) = latency.candidates
    return latency, isinstance(found, Contestant) and judge(latency, found)


@dataclass(frozen=True)
class _Heat:
    """In which order candidates are timed alone until one wins, how many may lose before, and why others do not run."""

    order: tuple[int, ...]
    chances: int
    dropped: tuple[str, ...] = ()


def _heat(
    process: RuntimeProcess,
    original: Model,
    candidates: Sequence[Model],
    trial: Trial,
    standard: Standard,
    champion: int | None,
    heard: Callable[[str], None],
) -> _Heat:
    """A few rounds of all candidates that run and that there is room for, and what follows from them.

    Nothing runs where there is nothing to choose by it: a champion alone, or latency that counts nothing. What ends the
    heat of all shows where each runs alone.
    """
    if champion is not None:
        return _Heat((champion,), 1)
    together = min(len(candidates), trial.most_at_once)
    if together == 1 or not standard.latency:
        return _as_predicted(candidates, standard)
    place = trial.timing, trial.settings, HEAT_ROUNDS, HEAT_RECREATIONS
    entrants = tuple(candidates[number] for number in range(together))
    heard(f"timing {together} candidates against the original")
    try:
        latency = compare_latency(
            process, CompareLatency(original, entrants, *place, time_limit_s=HEAT_LIMIT_S), GRACE_S
        )
    except RuntimeFailure:
        return _as_predicted(candidates, standard)
    ran = {number: found for number, found in enumerate(latency.candidates) if not isinstance(found, Failed)}
    dropped = tuple(found.reason for found in latency.candidates if isinstance(found, Failed))
    others = tuple(range(together, len(candidates)))
    if not ran:
        return _Heat(others, min(MOST_LOSERS, len(others)), dropped)
    ratios = {number: latency.ratio(one).value for number, one in ran.items()}
    ranked = _ranked(ratios, latency.rounds, standard, dropped)
    return replace(ranked, order=(*ranked.order, *others))


def _as_predicted(candidates: Sequence[Model], standard: Standard) -> _Heat:
    order = sorted(range(len(candidates)), key=lambda number: standard.score(number, 1.0))
    return _Heat(tuple(order), min(MOST_LOSERS, len(order)) if standard.latency else len(order))


def _ranked(ratios: Mapping[int, float], rounds: int, standard: Standard, dropped: tuple[str, ...]) -> _Heat:
    """The candidates by the ratios of a heat; of those that it cannot tell from the fastest, the best prediction first.

    Behind it come the fastest, and the best prediction of all; the others are there in case that these drop out.
    """
    ranking = sorted(ratios, key=lambda number: standard.score(number, ratios[number]))
    fastest, error = ranking[0], 1 + ROUND_ERROR / math.sqrt(rounds)
    best = standard.score(fastest, ratios[fastest])
    near = (number for number in sorted(ratios) if standard.score(number, ratios[number] * error) <= best)
    favoured = dict.fromkeys((next(near, fastest), fastest, min(ratios)))
    return _Heat(tuple(dict.fromkeys((*favoured, *ranking))), min(MOST_LOSERS, len(favoured)), dropped)


def _timed(process: RuntimeProcess, request: CompareLatency) -> LatencyComparison:
    try:
        return compare_latency(process, request, GRACE_S)
    except RuntimeFailure as error:
        raise UncheckableError(str(error)) from error
