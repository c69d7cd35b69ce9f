"""Models compiled by OpenVINO: creating, describing and running them.

They compute in float32, as they do in ONNX Runtime, and are compiled for the latency of one run after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from taso_opt.errors import UnsupportedError
from taso_opt.runtime.child.engine import NO_WEIGHTS, Run, Weights, refusals
from taso_opt.runtime.inputs import Array, Dim, InputSpec
from taso_opt.runtime.installed import OPENVINO_COMMAND
from taso_opt.runtime.requests import Model
from taso_opt.runtime.results import ModelDescription
from taso_opt.runtime.settings import OPENVINO, RunSettings

REPORTS_IMPORTS = "openvino.tools.ovc"
"""The part of the package that tells its makers over the network that it was imported; nothing here needs it."""

NUMPY_NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "boolean": "bool", "string": "object"} | {
    f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)
}


@cache
def library() -> Any:
    """The package openvino, without the part that reports; UnsupportedError where it does not import."""
    sys.modules[REPORTS_IMPORTS] = None  # type: ignore[assignment] # an import of it fails then, which is allowed for
    try:
        import openvino
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise UnsupportedError(f"expected OpenVINO to import, found: {reason}; run: {OPENVINO_COMMAND}") from error
    return openvino


def version() -> str:
    """The version without the build's number and digest."""
    return str(library().get_version()).partition("-")[0]


def create_session(model: Model, settings: RunSettings, optimization: str, weights: Weights = NO_WEIGHTS) -> Any:
    """A compiled model; OpenVINO has no levels of optimization. Raises RuntimeFailure."""
    assert not weights, "OpenVINO takes models with all their weights"
    core = _core()
    with refusals("load", model, OPENVINO):
        read = core.read_model(model, b"") if isinstance(model, bytes) else core.read_model(str(model))
        return core.compile_model(read, "CPU", configuration(settings))


def configuration(settings: RunSettings) -> dict[str, object]:
    """What a model is compiled with; `threads` 0 leaves the number to OpenVINO."""
    chosen: dict[str, object] = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    return chosen | ({"INFERENCE_NUM_THREADS": settings.threads} if settings.threads else {})


@cache
def _core() -> Any:
    return library().Core()


def describe_session(session: Any) -> ModelDescription:
    """Inputs and outputs of a compiled model; the names of symbolic dims are lost."""
    inputs, outputs = (tuple(_spec(port) for port in ports) for ports in (session.inputs, session.outputs))
    return ModelDescription(inputs, outputs)


def _spec(port: Any) -> InputSpec:
    name = str(port.element_type.to_string())
    return InputSpec(_name(port), NUMPY_NAMES.get(name, name), tuple(_dim(dim) for dim in port.partial_shape))


def _name(port: Any) -> str:
    names = sorted(port.names)
    return str(names[0]) if names else str(port.node.friendly_name)


def _dim(dim: Any) -> Dim:
    return int(dim.get_length()) if dim.is_static else None


def run_outputs(session: Any, model: Model, feed: Mapping[str, Array]) -> list[Array]:
    """The outputs as arrays; raises RuntimeFailure."""
    with refusals("run", model, OPENVINO):
        request = _bound(session, feed)
        found = request.infer()
        return [np.array(found[place]) for place in range(len(session.outputs))]


def bound_runs(session: Any, feeds: Sequence[Mapping[str, Array]], settings: RunSettings) -> list[Run]:
    """A call for each feed that runs the compiled model on it, with tensors bound beforehand."""
    return [_run(_bound(session, feed)) for feed in feeds]


def _run(request: Any) -> Run:
    return lambda: request.infer(share_outputs=True)


def _bound(session: Any, feed: Mapping[str, Array]) -> Any:
    """A request with the feed as its inputs, copied into tensors of its own.

    OpenVINO drops inputs that nothing needs, so the feed may have more; it would compute with whatever lies in memory
    for one that is missing. Raises ValueError for that.
    """
    request = session.create_infer_request()
    for port in session.inputs:
        name = next((name for name in port.names if name in feed), None)
        if name is None:
            raise ValueError(f"no value is given for input {_name(port)!r}")
        values = np.asarray(feed[name], order="C")
        request.set_tensor(name, library().Tensor(values.astype(str) if values.dtype.kind == "O" else values))
    return request
