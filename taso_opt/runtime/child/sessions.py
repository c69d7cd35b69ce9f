"""Sessions of ONNX Runtime: creating, describing and running them."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import LARGE_BYTES
from taso_opt.runtime.child.engine import NO_WEIGHTS, Run, Weights, refusals
from taso_opt.runtime.inputs import Array, Dim, InputSpec
from taso_opt.runtime.installed import CUDA_PROVIDER
from taso_opt.runtime.requests import Model
from taso_opt.runtime.results import ModelDescription
from taso_opt.runtime.settings import ONNXRUNTIME, RunSettings

CPU_PROVIDER = "CPUExecutionProvider"
LEVELS = {
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "none": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
SAVED_ASIDE = "session.optimized_model_external_initializers"
CAPTURED_AS, NOT_CAPTURED, CAPTURED = "gpu_graph_id", "-1", "1"
ONLY_ERRORS = 3  # log severity: what the runtime writes before it dies is quoted to the user, warnings are not wanted

NUMPY_NAMES = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "bool": "bool",
    "string": "object",
} | {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def session_options(optimization: str, settings: RunSettings) -> ort.SessionOptions:
    """Options of every session; threads do not spin, since spinning threads of one session slow the next."""
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[optimization]
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = ONLY_ERRORS
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def providers_for(settings: RunSettings) -> list[str | tuple[str, dict[str, str]]]:
    """The execution providers to ask for, with their options, in order of preference."""
    return [(CUDA_PROVIDER, dict(settings.options)), CPU_PROVIDER] if settings.on_gpu else [CPU_PROVIDER]


def create_session(
    model: Model,
    settings: RunSettings,
    optimization: str = "all",
    weights: Weights = NO_WEIGHTS,
    options: ort.SessionOptions | None = None,
) -> ort.InferenceSession:
    """A session of the model; `weights` are those that it says lie elsewhere, by name: the runtime copies them.

    Raises RuntimeFailure if it does not load, UnsupportedError if CUDA does not answer.
    """
    source = model if isinstance(model, bytes) else str(model)
    options = options or session_options(optimization, settings)
    if weights:
        options.add_external_initializers(list(weights), list(map(ort.OrtValue.ortvalue_from_numpy, weights.values())))
    if settings.on_gpu and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()
    with refusals("load", model, ONNXRUNTIME):  # without a fallback, which would print why and hide it
        session = ort.InferenceSession(source, options, providers=providers_for(settings), enable_fallback=0)
    if settings.on_gpu and CUDA_PROVIDER not in session.get_providers():
        raise UnsupportedError(
            f"expected a session on device 'cuda', found that the runtime fell back to {session.get_providers()}"
        )
    return session


def describe_session(session: ort.InferenceSession) -> ModelDescription:
    """Inputs and outputs of a session."""
    return ModelDescription(
        tuple(_spec(value) for value in session.get_inputs()), tuple(_spec(value) for value in session.get_outputs())
    )


def _spec(value: Any) -> InputSpec:
    match = re.fullmatch(r"tensor\((\w+)\)", value.type)
    dtype = NUMPY_NAMES.get(match.group(1), value.type) if match else value.type
    return InputSpec(value.name, dtype, tuple(_dim(dim) for dim in value.shape or ()))


def _dim(dim: object) -> Dim:
    if isinstance(dim, int):
        return dim if dim >= 0 else None
    return dim if isinstance(dim, str) and dim else None


def run_outputs(session: ort.InferenceSession, model: Model, feed: Mapping[str, Array]) -> list[Array]:
    """The outputs as arrays; a sequence or map is flattened into its tensors, keys before values."""
    with refusals("run", model, ONNXRUNTIME):
        values = session.run(None, {name: np.asarray(value) for name, value in feed.items()})
    return [array for value in values for array in _arrays(value)]


def _arrays(value: object) -> list[Array]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        keys = sorted(value)
        return [np.asarray(keys, object), np.asarray([value[key] for key in keys])]
    if isinstance(value, list):
        return [array for item in value for array in _arrays(item)]
    return [np.empty(0) if value is None else np.asarray(value)]


def bound_runs(session: ort.InferenceSession, feeds: Sequence[Mapping[str, Array]], settings: RunSettings) -> list[Run]:
    """A call for each feed that runs the session on it; on a GPU inputs and outputs stay there, and the call waits.

    Tensors are bound beforehand, which takes Python's conversion of inputs and outputs (2 us) out of the measurement;
    strings, sequences and maps cannot be bound and go through the ordinary call. What is captured runs on the first
    feed only: a captured run launches the same kernels whatever its inputs hold, and each feed would be captured anew.
    """
    description = describe_session(session)
    everything = description.inputs + description.outputs
    if any("(" in spec.dtype or spec.dtype == "object" for spec in everything):
        return [_plain_run(session, feed) for feed in feeds]
    if settings.captures:
        return [_captured_run(session, _bound(session, feeds[0], settings.device))]
    bindings = [_bound(session, feed, settings.device) for feed in feeds]
    if settings.on_gpu:
        return [_waiting_run(session, binding, ort.RunOptions()) for binding in bindings]
    return [partial(session.run_with_iobinding, binding) for binding in bindings]


def _plain_run(session: ort.InferenceSession, feed: Mapping[str, Array]) -> Run:
    values = dict(feed)
    return lambda: session.run(None, values)


def _bound(session: ort.InferenceSession, feed: Mapping[str, Array], device: str) -> ort.IOBinding:
    """Inputs on the device, and outputs that stay there. Raises ValueError for a name that no input has."""
    known = {value.name for value in session.get_inputs() + session.get_overridable_initializers()}
    binding = session.io_binding()
    for name, array in feed.items():
        if name not in known:
            raise ValueError(f"no input is called {name!r}")
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(np.asarray(array, order="C"), device, 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, device, 0)
    return binding


def _captured_run(session: ort.InferenceSession, binding: ort.IOBinding) -> Run:
    """A call that replays a run and waits, with the outputs where a first run put them.

    It is captured here, where nobody takes its time: the runtime makes two ordinary runs before it does so.
    """
    first, others = ort.RunOptions(), ort.RunOptions()
    first.add_run_config_entry(CAPTURED_AS, NOT_CAPTURED)
    others.add_run_config_entry(CAPTURED_AS, CAPTURED)
    session.run_with_iobinding(binding, first)
    for output, value in zip(session.get_outputs(), binding.get_outputs(), strict=True):
        binding.bind_ortvalue_output(output.name, value)
    replay = _waiting_run(session, binding, others)
    replay()
    return replay


def _waiting_run(session: ort.InferenceSession, binding: ort.IOBinding, options: ort.RunOptions) -> Run:
    """A call that runs on a GPU and waits."""

    def run_and_wait() -> None:
        session.run_with_iobinding(binding, options)
        binding.synchronize_outputs()

    return run_and_wait


def lower(model: bytes, settings: RunSettings, path: Path, weights: Weights = NO_WEIGHTS) -> bytes:
    """The model that the runtime executes after its own optimizations, serialized, by way of a file that it writes.

    Large weights are left out; the model says that they lie elsewhere. Raises RuntimeFailure.
    """
    options, aside = session_options("all", settings), path.with_suffix(".weights")
    options.optimized_model_filepath = str(path)
    options.add_session_config_entry(f"{SAVED_ASIDE}_file_name", aside.name)
    options.add_session_config_entry(f"{SAVED_ASIDE}_min_size_in_bytes", str(LARGE_BYTES))
    create_session(model, settings, weights=weights, options=options)
    with refusals("save its optimized form of", model, ONNXRUNTIME):
        aside.unlink(missing_ok=True)
        return path.read_bytes()
