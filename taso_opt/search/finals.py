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
class Finals:
    """The measurement of all finalists, their agreement with the original, and the winner's number or None."""

    latency: LatencyComparison
    agreements: tuple[Agreement, ...]
    winner: int | None

    def contestant(self, number: int) -> Contestant:
        """One finalist's latency; only finalists that ran have one."""
        found = self.latency.candidates[number]
        assert isinstance(found, Contestant), f"finalist {number} was not measured: {found.reason}"
        return found


def hold_finals(
    process: RuntimeProcess,
    original: Model,
    finalists: Sequence[Model],
    feeds: Sequence[Feed],
    settings: RunSettings,
    time_limit_s: float,
) -> Finals:
    """Compare and time the finalists; the winner is the fastest that is ahead by more than the control's noise.

    Raises MismatchError when a finalist computes something else than the original: then a rule, a precondition or the
    rewriting itself is wrong, and no result can be trusted.
    """
    agreements = tuple(agreement(process, original, finalists, feeds, settings))
    for number, found in enumerate(agreements):
        if found.reasons:
            raise MismatchError(f"candidate {number + 1} does not compute what the model computes: {found.reasons[0]}")
    request = CompareLatency(original, tuple(finalists), feeds[0], settings, time_limit_s=time_limit_s)
    latency = compare_latency(process, request)
    return Finals(latency, agreements, _winner(latency))


def agreement(
    process: RuntimeProcess,
    original: Model,
    others: Sequence[Model],
    feeds: Sequence[Feed],
    settings: RunSettings,
) -> list[Agreement]:
    """How each model's outputs agree with the original's, judged by what the runtime's own optimizations change.

    Raises UnrunnableError when the original does not run on the feeds, RuntimeFailure when another one does not.
    """
    try:
        reference = run_feeds(process, original, feeds, settings)
        plain = run_feeds(process, original, feeds, settings, optimization="none")
    except RuntimeFailure as error:
        raise UnrunnableError(str(error)) from error
    tolerances = [yardstick(optimized, unoptimized) for optimized, unoptimized in zip(reference, plain, strict=True)]
    warnings = _silent_outputs(reference)
    found = []
    for other in others:
        outputs = run_feeds(process, other, feeds, settings)
        comparisons = (compare_outputs(*case) for case in zip(reference, outputs, tolerances, strict=True))
        found.append(Agreement(tuple(comparisons), warnings))
    return found


def _silent_outputs(reference: Sequence[Sequence[Array]]) -> tuple[str, ...]:
    """Warnings for outputs that stay the same when the inputs change: agreement on them proves nothing."""
    if len(reference) < 2:
        return ()
    reactions = sensitivity(reference[0], reference[1])
    silent = [reaction.index for reaction in reactions if not reaction.reacts]
    return tuple(f"output {index} does not react to the inputs: its agreement is weak evidence" for index in silent)


def _winner(latency: LatencyComparison) -> int | None:
    ahead = [
        (latency.corrected(candidate), -number)
        for number, candidate in enumerate(latency.candidates)
        if not isinstance(candidate, Failed) and latency.is_ahead(candidate)
    ]
    return -max(ahead)[1] if ahead else None
