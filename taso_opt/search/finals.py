"""The last word on a search: its best graphs are run, compared and timed against the original, whole model by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taso_opt.errors import MismatchError, RuntimeFailure, UnrunnableError
from taso_opt.runtime import (
    CompareLatency,
    Contestant,
    Failed,
    LatencyComparison,
    Model,
    OutputComparison,
    RunSettings,
    RuntimeProcess,
    compare_latency,
    compare_outputs,
    run_feeds,
    sensitivity,
    yardstick,
)
from taso_opt.runtime.inputs import Array

Feed = Mapping[str, Array]

HEAT_ROUNDS, HEAT_RECREATIONS, HEAT_LIMIT_S = 8, 1, 2.0
FINAL_LIMIT_S = 6.0
"""Of the measurement alone; a slow model gets fewer rounds in it, and so a wider interval to stay clear of."""


@dataclass(frozen=True)
class Agreement:
    """How far a model's outputs are from the original's on every feed, and what weakens that as evidence."""

    comparisons: tuple[OutputComparison, ...]
    warnings: tuple[str, ...]

    @property
    def max_abs(self) -> float:
        """Largest absolute error of any output on any feed."""
        return max((comparison.max_abs for comparison in self.comparisons), default=0.0)

    @property
    def max_rel(self) -> float:
        """Largest relative error of any output on any feed."""
        return max((comparison.max_rel for comparison in self.comparisons), default=0.0)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each disagreement."""
        return tuple(reason for comparison in self.comparisons for reason in comparison.reasons)


@dataclass(frozen=True)
class FailedCheck:
    """The evidence of a MismatchError: the finalist's number and how far it is from the original."""

    number: int
    agreement: Agreement


@dataclass(frozen=True)
class Finals:
    """The measurement of the candidate that came first in the heat: its number, its agreement and whether it won."""

    number: int
    latency: LatencyComparison
    finalist: Contestant
    agreement: Agreement
    won: bool


def hold_finals(
    process: RuntimeProcess,
    original: Model,
    candidates: Sequence[Model],
    feeds: Sequence[Feed],
    timing: tuple[Feed, ...],
    settings: RunSettings,
) -> Finals | None:
    """Find the fastest candidate in a short heat, compare its outputs, and time it alone against the original.

    It wins if it is ahead by more than the control's noise. The heat's figures are not used again: the best of several
    noisy figures is mostly too good. None when no candidate runs. Raises MismatchError when the fastest computes
    something else than the original: then a rule, a precondition or the rewriting itself is wrong.
    """
    number = _heat(process, original, candidates, timing, settings)
    if number is None:
        return None
    agreed = agreement(process, original, candidates[number], feeds, settings)
    if agreed.reasons:
        message = f"candidate {number + 1} does not compute what the model computes: {agreed.reasons[0]}"
        raise MismatchError(message, FailedCheck(number, agreed))
    request = CompareLatency(original, (candidates[number],), timing, settings, time_limit_s=FINAL_LIMIT_S)
    latency = compare_latency(process, request)
    finalist = latency.candidates[0]
    if isinstance(finalist, Failed):
        return None
    return Finals(number, latency, finalist, agreed, latency.is_ahead(finalist))


def _heat(
    process: RuntimeProcess,
    original: Model,
    candidates: Sequence[Model],
    feeds: tuple[Feed, ...],
    settings: RunSettings,
) -> int | None:
    """The number of the candidate that is fastest in a few rounds, None if none runs."""
    if len(candidates) == 1:
        return 0
    request = CompareLatency(
        original, tuple(candidates), feeds, settings, HEAT_ROUNDS, HEAT_RECREATIONS, time_limit_s=HEAT_LIMIT_S
    )
    try:
        latency = compare_latency(process, request)
    except RuntimeFailure as error:
        raise UnrunnableError(str(error)) from error
    ran = {number: found for number, found in enumerate(latency.candidates) if not isinstance(found, Failed)}
    return max(ran, key=lambda number: latency.ratio(ran[number]).value, default=None)


def agreement(
    process: RuntimeProcess, original: Model, other: Model, feeds: Sequence[Feed], settings: RunSettings
) -> Agreement:
    """How a model's outputs agree with the original's, judged by what the runtime's own optimizations change.

    Raises UnrunnableError when the original does not run on the feeds, RuntimeFailure when another one does not.
    """
    try:
        reference = run_feeds(process, original, feeds, settings)
        plain = run_feeds(process, original, feeds, settings, optimization="none")
    except RuntimeFailure as error:
        raise UnrunnableError(str(error)) from error
    tolerances = [yardstick(optimized, unoptimized) for optimized, unoptimized in zip(reference, plain, strict=True)]
    outputs = run_feeds(process, other, feeds, settings)
    comparisons = (compare_outputs(*case) for case in zip(reference, outputs, tolerances, strict=True))
    return Agreement(tuple(comparisons), _silent_outputs(reference))


def _silent_outputs(reference: Sequence[Sequence[Array]]) -> tuple[str, ...]:
    """Warnings for outputs that stay the same when the inputs change: agreement on them proves nothing."""
    if len(reference) < 2:
        return ()
    reactions = sensitivity(reference[0], reference[1])
    silent = [reaction.index for reaction in reactions if not reaction.reacts]
    return tuple(f"output {index} does not react to the inputs: its agreement is weak evidence" for index in silent)
