"""The record of one optimization: everything that the text and JSON reports show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from taso_opt.report.evidence import OperatorCost, OutputError, Place, SearchPoint

SCHEMA_VERSION = 1

MODEL_IN_MEMORY, ARRAYS_IN_MEMORY = "model in memory", "arrays in memory"
"""What stands in a record for the name of a file that never was one."""


@dataclass(frozen=True)
class MeasuredLatency:
    """Median milliseconds of one run on the clock that decides, the spread of its samples, and both clocks."""

    median_ms: float
    spread_ms: float
    cpu_ms: float
    wall_ms: float


@dataclass(frozen=True)
class MeasuredSpeedup:
    """Time of the original divided by time of the result: corrected by the A/A control, with a 95% interval.

    What an earlier run has measured says at what time, `measured_at`.
    """

    ratio: float
    low: float
    high: float
    control: float
    control_low: float
    control_high: float
    wall_ratio: float
    measured_at: str = ""

    @property
    def with_interval(self) -> str:
        """The ratio and its interval in words."""
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class AppliedRule:
    """One rule of the library, how often it was applied, and why it is true.

    `conditions` are what a place must satisfy, in words; `statements` say for each axiom what it states; `engine` found
    the proof and `specs` is the digest of the operator specifications that it was made with.
    """

    id: str
    text: str
    count: int
    fp_class: str
    axioms: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    statements: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""
    specs: str = ""


@dataclass(frozen=True)
class ObjectivePart:
    """A quantity that the objective or a limit is about, before and after: operations, launches or bytes.

    `weight` is its weight in the objective, 0 where it is only limited.
    """

    name: str
    weight: float
    before: float
    after: float


@dataclass(frozen=True)
class SearchSummary:
    """How the search went; the costs are predictions in milliseconds.

    Of its seconds, `measuring_seconds` went into measuring `measured` kernels whose cost was not known yet. An answer
    that was `recalled_from` an earlier run, with its time, is described as it was found then.
    """

    predicted_before_ms: float
    predicted_after_ms: float
    explored: int
    expanded: int
    seconds: float
    measured: int
    measuring_seconds: float
    stopped_by: str
    progress: tuple[SearchPoint, ...] = ()
    recalled_from: str = ""


@dataclass(frozen=True)
class Record:
    """One run of `tasoopt optimize`; `result` is improved, unchanged, dry-run or mismatch (a check failed).

    `passes` has a sentence for each clean-up that needs no rule and is part of the result. `speedup_free_threads` is
    what a result that was measured at one thread gains with as many as the runtime chooses, in wall time.
    """

    result: str
    reason: str
    input: str
    output: str | None
    operators_before: Mapping[str, int]
    operators_after: Mapping[str, int]
    rules: tuple[AppliedRule, ...]
    search: SearchSummary
    settings: Mapping[str, Any]
    runtime: Mapping[str, Any]
    clock: str = ""
    latency_before: MeasuredLatency | None = None
    latency_after: MeasuredLatency | None = None
    speedup: MeasuredSpeedup | None = None
    speedup_free_threads: MeasuredSpeedup | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    bytes_added: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    outputs: tuple[OutputError, ...] = ()
    costs: tuple[OperatorCost, ...] = ()
    places: tuple[Place, ...] = ()
    objective: tuple[ObjectivePart, ...] = ()
    passes: tuple[str, ...] = ()

    @property
    def timed_by(self) -> str:
        """The package and version of the runtime that measured, "" where that is ONNX Runtime."""
        return str(self.runtime.get("timed_by", ""))

    @property
    def timed_in(self) -> str:
        """The clock that decides, in words, and the runtime where it is not ONNX Runtime."""
        return _timed_in(self.clock, self.timed_by)

    @property
    def shows_candidate(self) -> bool:
        """Whether nothing was written, so that the latency after is that of the best candidate."""
        return self.result == "unchanged" and self.latency_after is not None

    @property
    def is_of_files(self) -> bool:
        """Whether a command can do the same again: what a Python program had in memory is nowhere."""
        return self.input != MODEL_IN_MEMORY and self.settings.get("inputs") != ARRAYS_IN_MEMORY

    def document(self) -> dict[str, Any]:
        """The record as one JSON document, which schema.json describes; what is not finite is null there."""
        fields: dict[str, Any] = _finite(asdict(self))
        return {"schema_version": SCHEMA_VERSION, "command": "optimize", **fields}


@dataclass(frozen=True)
class Comparison:
    """The answer of `tasoopt compare`; the speed-up is the time of the first divided by the time of the second.

    `timed_by` is the package and version of the runtime that measured, "" where that is ONNX Runtime.
    """

    first: str
    second: str
    agrees: bool
    reasons: tuple[str, ...]
    max_abs_error: float
    max_rel_error: float
    clock: str
    latency_first: MeasuredLatency
    latency_second: MeasuredLatency
    speedup: MeasuredSpeedup
    warnings: tuple[str, ...]
    timed_by: str = ""

    @property
    def timed_in(self) -> str:
        """The clock that decides, in words, and the runtime where it is not ONNX Runtime."""
        return _timed_in(self.clock, self.timed_by)

    @property
    def faster(self) -> str | None:
        """Which model is ahead by more than the noise of the control, "first" or "second"; None when neither is."""
        found = self.speedup
        noise = max(found.control_high, 1 / found.control_low)
        if found.low > 1 and found.ratio > noise:
            return "second"
        return "first" if found.high < 1 and 1 / found.ratio > noise else None

    def document(self) -> dict[str, Any]:
        """The answer as one JSON document; what is not finite is null there."""
        fields: dict[str, Any] = _finite(asdict(self))
        return {"schema_version": SCHEMA_VERSION, "command": "compare", **fields, "faster": self.faster}


def _timed_in(clock: str, runtime: str) -> str:
    name, _, _ = runtime.partition(" ")
    return f"{clock} time, {name}" if name else f"{clock} time"


def _finite(value: Any) -> Any:
    """The value with null in place of infinities and NaN, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value
