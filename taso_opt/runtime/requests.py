"""The messages between the parent and the runtime's child process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from taso_opt.errors import TasoError
from taso_opt.runtime.inputs import FEW_INTEGERS, Array, InputSpec
from taso_opt.runtime.settings import ONE_CPU_THREAD, ONNXRUNTIME, RunSettings

Model = bytes | str | Path
"""A serialized model, or the path of one (required above 2 GB and for external data).

A relative path counts from the folder that was current when the child process started.
"""

WHOLE, FUSED, CORE = "all of it", "what is fused where the results are used", "what stands between convolutions"
"""Parts of a model to be timed; the others are the names of the runtime's conversions of layouts."""


@dataclass(frozen=True)
class Probe:
    """Ask which ONNX Runtime this is, what it can do, and which `runtime` measures; answered by RuntimeInfo."""

    runtime: str = ONNXRUNTIME


@dataclass(frozen=True)
class Describe:
    """Ask for a model's inputs and outputs; answered by ModelDescription."""

    model: Model
    settings: RunSettings = ONE_CPU_THREAD
    optimization: str = "none"


@dataclass(frozen=True)
class RunOutputs:
    """Run one session once for each feed; answered by one list of arrays for each feed."""

    model: Model
    feeds: tuple[Mapping[str, Array], ...]
    optimization: str = "all"
    settings: RunSettings = ONE_CPU_THREAD


@dataclass(frozen=True)
class RunDoubles:
    """Run a copy of a model file that computes in float64; answered as RunOutputs is."""

    model: str | Path
    feeds: tuple[Mapping[str, Array], ...]
    settings: RunSettings = ONE_CPU_THREAD


@dataclass(frozen=True)
class FindSizes:
    """Which sets of input shapes is the first that a model runs on; answered by its number, or None.

    Inputs are seeded random ones. After `limit_s` seconds no further set is tried.
    """

    model: Model
    candidates: tuple[tuple[InputSpec, ...], ...]
    settings: RunSettings = ONE_CPU_THREAD
    limit_s: float = 10.0


@dataclass(frozen=True)
class Tidy:
    """Ask for a model file cleaned up (see onnx_io.tidy); answered by Tidied, or None where nothing is to be cleaned.

    It is asked of the child because a library that may fail in any way reads a model that may be hostile.
    """

    model: str | Path


@dataclass(frozen=True)
class MeasureItem:
    """A model to time, under a key of the caller; without inputs it gets seeded random ones, free dims set to 1.

    `part` says what of the model is timed (see parts), as so many independent `copies` in one run, in so many `turns`
    over the same weights. The weights of a hollow model (see onnx_io.standalone), of `weight_bytes` bytes in all
    copies, are made in the child; what goes in and comes out takes `value_bytes`. Random whole numbers lie `below` a
    bound.
    """

    key: str
    model: Model
    inputs: Mapping[str, Array] | None = None
    part: str = WHOLE
    copies: int = 1
    turns: int = 1
    weight_bytes: int = 0
    value_bytes: int = 0
    below: int = FEW_INTEGERS


@dataclass(frozen=True)
class MeasurePlan:
    """How much effort goes into each model of a large set.

    A sample repeats the model until it lasts `sample_s` seconds; each model gets `rounds` samples, but no new one
    after `model_s` seconds of sampling or when the three shortest samples differ by no more than the share `agreement`
    (3 samples at least). At most `batch_size` sessions and `batch_bytes` of models and values live at once (8 sessions
    when several threads are used). After `total_s` seconds the rest is left unmeasured.
    """

    rounds: int = 21
    sample_s: float = 5e-4
    model_s: float = 1.0
    agreement: float = 0.0
    batch_size: int = 32
    batch_bytes: int = 256_000_000
    total_s: float | None = None


DEFAULT_PLAN = MeasurePlan()


@dataclass(frozen=True)
class MeasureMany:
    """Time a batch of small models in interleaved rounds; answered by a Timing, Failed or Absent for each key.

    The model `beside` takes part in all rounds, in several sessions; its time is told with that of each of the others.
    """

    items: tuple[MeasureItem, ...]
    plan: MeasurePlan = DEFAULT_PLAN
    optimization: str = "all"
    settings: RunSettings = ONE_CPU_THREAD
    beside: MeasureItem | None = None


@dataclass(frozen=True)
class CompareLatency:
    """Time candidates against the original, interleaved, with an A/A control; answered by LatencyComparison.

    Runs take turns among the `feeds`, or use seeded random inputs when there are none: with one input over and over,
    the processor learns the branches that depend on the data, which it cannot do where the model is used.
    """

    original: Model
    candidates: tuple[Model, ...]
    feeds: tuple[Mapping[str, Array], ...] = ()
    settings: RunSettings = ONE_CPU_THREAD
    rounds: int = 30
    recreations: int = 6
    time_limit_s: float = 60.0
    sample_s: float = 2e-2
    optimization: str = "all"


Request = Probe | Describe | RunOutputs | RunDoubles | FindSizes | Tidy | MeasureMany | CompareLatency


@dataclass(frozen=True)
class Ready:
    """The child has imported the runtime and waits for requests."""


@dataclass(frozen=True)
class Answer:
    """The result of a request."""

    value: object


@dataclass(frozen=True)
class Refusal:
    """The request failed for a reason that the user can be told in one sentence."""

    error: TasoError
    trace: str = field(default="", repr=False)


@dataclass(frozen=True)
class Broken:
    """The child's own code failed: a fault of this package, with the traceback."""

    trace: str


Reply = Ready | Answer | Refusal | Broken


def name_of(model: Model) -> str:
    """A short name of a model for messages: its path, or how many bytes it has."""
    return f"a model of {len(model)} bytes" if isinstance(model, bytes) else str(model)


def subject_of(request: Request) -> str:
    """What a request is about, for messages."""
    if isinstance(request, Probe):
        return "the probe of the runtime"
    if isinstance(request, MeasureMany):
        return f"the measurement of {len(request.items)} models"
    if isinstance(request, CompareLatency):
        return f"the comparison of {len(request.candidates)} candidates with {name_of(request.original)}"
    return name_of(request.model)


def runtime_of(request: Request) -> str:
    """The runtime that a request is about, by the name that users give."""
    if isinstance(request, Probe):
        return request.runtime
    return ONNXRUNTIME if isinstance(request, Tidy) else request.settings.runtime
