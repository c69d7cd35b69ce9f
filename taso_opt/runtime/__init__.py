"""The only door to the runtimes, which are imported in a child process alone: native code may crash or hang there."""

from taso_opt.runtime.accuracy import (
    OutputComparison,
    OutputDifference,
    Reaction,
    base_tolerance,
    compare_outputs,
    judged_by_reference,
    sensitivity,
    special_share,
    yardstick,
)
from taso_opt.runtime.client import RuntimeProcess
from taso_opt.runtime.inputs import InputSpec, bind_shapes, random_inputs
from taso_opt.runtime.installed import InstalledRuntime, installed_runtime, require_runtime, resolve_device
from taso_opt.runtime.questions import (
    compare_latency,
    describe,
    lower,
    measure_many,
    probe,
    run_feeds,
    run_in_doubles,
    run_outputs,
    tidy,
)
from taso_opt.runtime.requests import CompareLatency, MeasureItem, MeasurePlan, Model, name_of
from taso_opt.runtime.results import (
    Contestant,
    Failed,
    Latency,
    LatencyComparison,
    ModelDescription,
    Ratio,
    Timing,
)
from taso_opt.runtime.settings import ONNXRUNTIME, OPENVINO, TITLES, RunSettings, RuntimeInfo

__all__ = [
    "ONNXRUNTIME",
    "OPENVINO",
    "TITLES",
    "CompareLatency",
    "Contestant",
    "Failed",
    "InputSpec",
    "InstalledRuntime",
    "Latency",
    "LatencyComparison",
    "MeasureItem",
    "MeasurePlan",
    "Model",
    "ModelDescription",
    "OutputComparison",
    "OutputDifference",
    "Ratio",
    "Reaction",
    "RunSettings",
    "RuntimeInfo",
    "RuntimeProcess",
    "Timing",
    "base_tolerance",
    "bind_shapes",
    "compare_latency",
    "compare_outputs",
    "describe",
    "installed_runtime",
    "judged_by_reference",
    "lower",
    "measure_many",
    "name_of",
    "probe",
    "random_inputs",
    "require_runtime",
    "resolve_device",
    "run_feeds",
    "run_in_doubles",
    "run_outputs",
    "sensitivity",
    "special_share",
    "tidy",
    "yardstick",
]
