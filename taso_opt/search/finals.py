"""The last word on a search: its best graphs are run, compared and timed against the original, whole model by model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from taso_opt.search.agreement import Agreement, Feed, agreement

HEAT_ROUNDS, HEAT_RECREATIONS, HEAT_LIMIT_S = 8, 1, 2.0
FINAL_LIMIT_S = 6.0
"""Of the measurement alone; a slow model gets fewer rounds in it, and so a wider interval to stay clear of."""


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


def hold_finals(
    process: RuntimeProcess,
    original: Model,
    candidates: Sequence[Model],
    feeds: Sequence[Feed],
    timing: tuple[Feed, ...],
    settings: RunSettings,
    singles: bool = False,
) -> Finals:
    """Find the fastest candidate in a short heat, compare its outputs, and time it alone against the original.

    It wins if it is ahead by more than the control's noise. The heat's figures are not used again: the best of several
    noisy figures is mostly too good. A candidate that the runtime refuses or dies of drops out; `singles` is handed to
    the comparison. Raises MismatchError when the fastest computes something else than the original: then a rule, a
    precondition or the rewriting itself is wrong. Raises UncheckableError when the original itself does not run on the
    feeds.
    """
    ranking, dropped = _heat(process, original, candidates, timing, settings)
    for number in ranking:
        agreed = agreement(process, original, candidates[number], feeds, settings, singles)
        if agreed.reasons:
            message = f"candidate {number + 1} does not compute what the model computes: {agreed.reasons[0]}"
            raise MismatchError(message, FailedCheck(number, agreed))
        if agreed.failure:
            dropped.append(agreed.failure)
            continue
        request = CompareLatency(original, (candidates[number],), timing, settings, time_limit_s=FINAL_LIMIT_S)
        latency = _timed(process, request)
        (found,) = latency.candidates
        if isinstance(found, Contestant):
            return Finals(Finalist(number, agreed, latency, found, latency.is_ahead(found)), tuple(dropped))
        dropped.append(found.reason)
    return Finals(None, tuple(dropped))


def _heat(
    process: RuntimeProcess,
    original: Model,
    candidates: Sequence[Model],
    feeds: tuple[Feed, ...],
    settings: RunSettings,
) -> tuple[list[int], list[str]]:
    """The numbers of the candidates that run, the fastest in a few rounds first, and why the others do not."""
    if len(candidates) == 1:
        return [0], []
    request = CompareLatency(
        original, tuple(candidates), feeds, settings, HEAT_ROUNDS, HEAT_RECREATIONS, time_limit_s=HEAT_LIMIT_S
    )
    latency = _timed(process, request)
    ran = {number: found for number, found in enumerate(latency.candidates) if not isinstance(found, Failed)}
    ranking = sorted(ran, key=lambda number: latency.ratio(ran[number]).value, reverse=True)
    return ranking, [found.reason for found in latency.candidates if isinstance(found, Failed)]


def _timed(process: RuntimeProcess, request: CompareLatency) -> LatencyComparison:
    try:
        return compare_latency(process, request)
    except RuntimeFailure as error:
        raise UncheckableError(str(error)) from error
