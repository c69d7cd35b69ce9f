"""Whether a rewritten model computes what the original computes, judged on inputs that both are run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.errors import RuntimeFailure, TasoError, UncheckableError
from taso_opt.runtime import (
    ONNXRUNTIME,
    TITLES,
    Model,
    OutputComparison,
    OutputDifference,
    RunSettings,
    RuntimeProcess,
    base_tolerance,
    compare_outputs,
    judged_by_reference,
    run_feeds,
    run_in_doubles,
    yardstick,
)
from taso_opt.runtime.inputs import Array
from taso_opt.search.judging.doubts import doubts
from taso_opt.search.judging.feeds import TREMBLE, nudged
from taso_opt.search.judging.last_functions import RANGE, files_that_show

CONTRADICTION = (
    "the runtime's own optimizations change what the model computes, so that nothing can be compared with it"
)

NOT_EVERYWHERE = (
    "on {} of {} sets of inputs the runtime's own optimizations change what the model computes: the others decided"
)

EXCUSED = (
    "output {} differs from the original's by more than the tolerance, "
    "but its distance from values computed in float64 is at most about twice the original's"
)

HIDDEN = (
    "output {} differs from the original's by more than the tolerance, but what goes into its last function, "
    "which hides differences, agrees"
)

TREMBLING = (
    "output {} differs from the original's by more than the tolerance, "
    "but by at most twice as much as the original's own does where inputs move in their last digits"
)
TREMBLES = 4
"""How often inputs are moved in their last digits to see what that changes."""

SHORT = (
    "products are rounded to TF32 on this GPU, where outputs differ from the original's by up to {:.1e}; "
    "in float32, and with --cuda-option use_tf32=0, they agree within the tolerance"
)
SHORT_TOLERANCE = base_tolerance(np.dtype(np.float16))
"""Of outputs whose products are computed in TF32, which has as many digits as float16."""

CHECK_LIMIT_S = 120.0
"""For all runs of one model in a check, loading it included: a loop in it may have no end."""

Feed = Mapping[str, Array]
Outputs = Sequence[Sequence[Array]]
"""Of one run after the other."""


@dataclass(frozen=True)
class Agreement:
    """How far a model's outputs are from the original's on every feed, and what weakens that as evidence.

    `failure` says why there is nothing to compare, where there is nothing: the model does not run, or the runtime
    contradicts itself. `elsewhere` are disagreements in another runtime that measures, where ONNX Runtime sees none.
    """

    comparisons: tuple[OutputComparison, ...]
    warnings: tuple[str, ...]
    failure: str = ""
    elsewhere: tuple[str, ...] = ()

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
        """One sentence for each output that disagrees, about the feed on which it does most."""
        worst: dict[int, OutputDifference] = {}
        for one in (one for comparison in self.comparisons for one in comparison.outputs if one.reason):
            known = worst.get(one.index)
            if known is None or one.max_rel > known.max_rel:
                worst[one.index] = one
        return tuple(one.reason for _, one in sorted(worst.items()))


class Verdicts(Protocol):
    """Remembers what outputs were found to agree (see `verdicts`)."""

    def recall(self, outputs: Outputs) -> Agreement | None:
        """The agreement of models that gave the same outputs before, the original's first; None if none did."""
        ...

    def remember(self, outputs: Outputs, found: Agreement) -> None:
        """Remember the agreement of models with these outputs."""
        ...


def agreement(
    process: RuntimeProcess,
    original: Model,
    other: Model,
    feeds: Sequence[Feed],
    settings: RunSettings,
    singles: bool = False,
    verdicts: Verdicts | None = None,
) -> Agreement:
    """How a model's outputs agree with the original's, judged by what the runtime's own optimizations change.

    What is beyond that is judged by what moves in the original's outputs when inputs move in their last digits, and
    then by a copy of the original that computes in float64 (see runtime/accuracy.py). All that happens in ONNX Runtime
    and with all digits of float32; where another runtime measures, or a GPU that rounds the factors of products to
    TF32, both models must also give the same there.

    `singles` says that the original computes in float32 or less somewhere, whatever its outputs are. Of `verdicts` on
    the same original and inputs that on the same outputs holds.
    Raises UncheckableError when the original does not run on the feeds.
    """
    found = _judged(process, original, other, feeds, settings.judge, singles, verdicts)
    if settings == settings.judge or found.failure or found.reasons:
        return found
    return _agreement_elsewhere(found, process, original, other, feeds, settings)


def _agreement_elsewhere(
    found: Agreement,
    process: RuntimeProcess,
    original: Model,
    other: Model,
    feeds: Sequence[Feed],
    settings: RunSettings,
) -> Agreement:
    """An agreement in ONNX Runtime with what becomes of it as models are run where they are timed.

    How far outputs may differ there follows from how far those of the original differ between the two; where products
    are short, by no less than what their rounding makes.
    """
    try:
        known = _run(process, original, feeds, settings.judge)
        reference = _run(process, original, feeds, settings)
    except RuntimeFailure as error:
        raise UncheckableError(str(error)) from error
    if not _are_as_many(reference, known):
        return replace(found, failure=CONTRADICTION)
    try:
        outputs = _run(process, other, feeds, settings)
    except RuntimeFailure as error:
        return replace(found, failure=str(error))
    tolerances = [yardstick(*case, singles=True) for case in zip(reference, known, strict=True)]
    if settings.is_short:
        tolerances = [tuple(one and max(one, SHORT_TOLERANCE) for one in allowed) for allowed in tolerances]
    compared = _compared(reference, outputs, tolerances)
    where = f"in {TITLES[settings.runtime]}" if settings.runtime != ONNXRUNTIME else f"on {settings.provider}"
    reasons = tuple(f"{reason}, {where}" for one in compared for reason in one.reasons)
    return replace(found, elsewhere=reasons, warnings=(*found.warnings, *_shortness(compared, settings)))


def _shortness(compared: Sequence[OutputComparison], settings: RunSettings) -> tuple[str, ...]:
    """What is said where outputs differ by more than float32 explains, since products are short."""
    most = max((one.max_rel for one in compared), default=0.0)
    return (SHORT.format(most),) if settings.is_short and base_tolerance(np.dtype(np.float32)) < most < 1 else ()


def _judged(
    process: RuntimeProcess,
    original: Model,
    other: Model,
    feeds: Sequence[Feed],
    settings: RunSettings,
    singles: bool,
    verdicts: Verdicts | None,
) -> Agreement:
    reference, followed = _reference(process, original, feeds, settings)
    warnings = doubts(reference, followed)
    try:
        outputs = _run(process, other, feeds, settings)
    except RuntimeFailure as error:
        return Agreement((), warnings, str(error))
    known = None if verdicts is None else verdicts.recall([*reference, *outputs])
    if known is not None:
        return known
    case = _Original(process, original, feeds, settings, singles, reference)
    found = _compared_by_yardstick(case, other, outputs, warnings)
    if verdicts is not None:
        verdicts.remember([*reference, *outputs], found)
    return found


def _reference(
    process: RuntimeProcess, original: Model, feeds: Sequence[Feed], settings: RunSettings
) -> tuple[list[list[Array]], list[Array] | None]:
    """The original's outputs on the feeds, and on the first one moved a little; None where there are none for that."""
    moved = nudged(feeds[0], settings.seed)
    if moved is not None:
        try:
            *reference, followed = _run(process, original, [*feeds, moved], settings)
        except RuntimeFailure:
            pass  # an input may say how large something becomes: what is near need not be possible
        else:
            return reference, followed
    try:
        return _run(process, original, feeds, settings), None
    except RuntimeFailure as error:
        raise UncheckableError(str(error)) from error


@dataclass(frozen=True)
class _Original:
    """What is compared with: the original, the feeds, how it runs on them, and the `outputs` that it gives.

    `singles` says that it computes in float32 or less somewhere.
    """

    process: RuntimeProcess
    model: Model
    feeds: Sequence[Feed]
    settings: RunSettings
    singles: bool
    outputs: Outputs

    def yardsticks(self, others: Outputs) -> list[tuple[float, ...]]:
        """The tolerances that follow from other outputs of the same model."""
        return [yardstick(*case, self.singles) for case in zip(self.outputs, others, strict=True)]


def _compared_by_yardstick(original: _Original, other: Model, outputs: Outputs, warnings: tuple[str, ...]) -> Agreement:
    """How outputs agree with the original's by what the runtime's own optimizations change of these."""
    try:
        plain = _run(original.process, original.model, original.feeds, original.settings, optimization="none")
    except RuntimeFailure as error:
        raise UncheckableError(str(error)) from error
    reference = original.outputs
    if not _are_as_many(reference, plain):
        return Agreement((), warnings, CONTRADICTION)
    tolerances = original.yardsticks(plain)
    comparisons = _compared(reference, outputs, tolerances)
    excused = _excused_by_what_goes_in(original, other, comparisons)
    comparisons = tuple(_without(excused, one) for one in comparisons)
    warnings += tuple(map(HIDDEN.format, sorted(excused)))
    if not all(one.agrees for one in comparisons):
        tolerances, before = _for_trembling_inputs(original, tolerances), comparisons
        comparisons = tuple(_without(excused, one) for one in _compared(reference, outputs, tolerances))
        warnings += tuple(TREMBLING.format(index) for index in sorted(_failed(before) - _failed(comparisons)))
    if not all(one.agrees for one in comparisons):
        comparisons, more = _judged_again(original, comparisons, outputs)
        warnings += more
    own = _compared(reference, plain, tolerances)
    if all(one.agrees for one in comparisons) or all(one.agrees for one in own):
        return Agreement(comparisons, warnings)
    telling = [one for one, itself in zip(comparisons, own, strict=True) if itself.agrees]
    by_numbers = all(np.isfinite(one.max_abs) for one in comparisons)
    if not (telling and by_numbers and _sound_outputs_agree(comparisons, own)):
        return Agreement((), warnings, CONTRADICTION)
    left_out = NOT_EVERYWHERE.format(len(own) - len(telling), len(own))
    return Agreement(tuple(telling), (*warnings, left_out))


def _sound_outputs_agree(comparisons: Sequence[OutputComparison], own: Sequence[OutputComparison]) -> bool:
    """Whether outputs agree wherever the runtime does not contradict itself, beside others where it does as well."""
    pairs = (zip(one.outputs, itself.outputs, strict=True) for one, itself in zip(comparisons, own, strict=True))
    return all(found.agrees for pair in pairs for found, sound in pair if sound.agrees)


def _excused_by_what_goes_in(original: _Original, other: Model, comparisons: Sequence[OutputComparison]) -> set[int]:
    """The outputs that disagree although what goes into their last functions agrees on every feed."""
    places = sorted(_failed(comparisons))
    if not places or isinstance(original.model, bytes) or isinstance(other, bytes):
        return set()
    try:
        with scratch_folder() as folder:
            files = files_that_show(Path(original.model), Path(other), places, folder)
            if files is None:
                return set()
            shown = [_run(original.process, file, original.feeds, original.settings) for file in files]
            shown.append(_run(original.process, files[0], original.feeds, original.settings, optimization="none"))
    except TasoError:
        return set()
    reference, inner, plain = ([run[-len(places) :] for run in runs] for runs in shown)
    tolerances = [yardstick(*case, original.singles) for case in zip(reference, plain, strict=True)]
    differing = _failed(_compared(reference, inner, tolerances))
    return {place for at, place in enumerate(places) if at not in differing}


def _without(excused: set[int], comparison: OutputComparison) -> OutputComparison:
    """A comparison in which these outputs agree, as far as they differ by little of what their functions may give."""
    return OutputComparison(
        tuple(
            replace(one, tolerance=max(one.tolerance, one.max_rel), reason="")
            if one.index in excused and one.max_abs <= one.tolerance * RANGE
            else one
            for one in comparison.outputs
        )
    )


def _for_trembling_inputs(original: _Original, tolerances: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Tolerances as they are for outputs that rounding changes by more, as a sigmoid of a number far below 0."""
    wider = list(tolerances)
    for draw in range(TREMBLES):
        drawn = [nudged(feed, original.settings.seed + draw, TREMBLE) for feed in original.feeds]
        if all(feed is None for feed in drawn):
            break
        moved = [other or feed for feed, other in zip(original.feeds, drawn, strict=True)]
        try:
            found = _run(original.process, original.model, moved, original.settings)
        except RuntimeFailure:
            break
        if not _are_as_many(original.outputs, found):
            continue
        wider = [tuple(map(max, *pair)) for pair in zip(wider, original.yardsticks(found), strict=True)]
    return wider


def _judged_again(
    original: _Original, comparisons: tuple[OutputComparison, ...], other: Outputs
) -> tuple[tuple[OutputComparison, ...], tuple[str, ...]]:
    """The comparisons with their disagreements judged by a float64 copy of the original, where that can be had."""
    if isinstance(original.model, bytes):
        return comparisons, ()
    doubtful = [place for place, one in enumerate(comparisons) if not one.agrees]
    judged = list(comparisons)
    try:
        feeds = [original.feeds[place] for place in doubtful]
        exact = run_in_doubles(original.process, original.model, feeds, original.settings, CHECK_LIMIT_S)
        for place, values in zip(doubtful, exact, strict=True):
            judged[place] = judged_by_reference(comparisons[place], values, original.outputs[place], other[place])
    except TasoError:
        return comparisons, ()
    excused = sorted(_failed(comparisons) - _failed(judged))
    return tuple(judged), tuple(EXCUSED.format(index) for index in excused)


def _failed(comparisons: Sequence[OutputComparison]) -> set[int]:
    return {output.index for comparison in comparisons for output in comparison.outputs if not output.agrees}


def _are_as_many(reference: Outputs, other: Outputs) -> bool:
    """Whether two models gave as many tensors on each feed: the length of a sequence may hang on rounding."""
    return [*map(len, reference)] == [*map(len, other)]


def _run(
    process: RuntimeProcess, model: Model, feeds: Sequence[Feed], settings: RunSettings, optimization: str = "all"
) -> list[list[Array]]:
    return run_feeds(process, model, feeds, settings, optimization, CHECK_LIMIT_S)


def _compared(
    reference: Outputs, other: Outputs, tolerances: Sequence[Sequence[float]]
) -> tuple[OutputComparison, ...]:
    return tuple(compare_outputs(*case) for case in zip(reference, other, tolerances, strict=True))
