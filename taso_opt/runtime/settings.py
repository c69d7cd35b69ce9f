"""How a model is run (device, threads, seed, runtime) and what the installed runtime can do."""

from __future__ import annotations

from dataclasses import dataclass, replace

ONNXRUNTIME, OPENVINO = "onnxruntime", "openvino"
TITLES = {ONNXRUNTIME: "ONNX Runtime", OPENVINO: "OpenVINO"}
"""The runtimes that models are timed in, by the names that users give."""


@dataclass(frozen=True)
class RunSettings:
    """Where and how a session runs; `threads` 0 leaves the number to the runtime, `seed` drives every random choice."""

    device: str = "cpu"
    threads: int = 1
    seed: int = 0
    runtime: str = ONNXRUNTIME

    @property
    def judge(self) -> RunSettings:
        """The same in ONNX Runtime, where it is decided whether outputs are right, whatever measures."""
        return replace(self, runtime=ONNXRUNTIME)


ONE_CPU_THREAD = RunSettings()


@dataclass(frozen=True)
class RuntimeInfo:
    """What the installed runtime is and what it really does here.

    `providers` are those for which a session, once created, says that it uses them; `listed` are those the package
    merely claims (it lists CUDA on machines without a GPU). `max_ir` and `max_opset` are the newest ONNX file format
    and ai.onnx opset that it loads, None where its answer could not be read. `timed_by` is the package and version of
    another runtime that costs and latencies are measured in, "" where it is this one.
    """

    package: str
    version: str
    providers: tuple[str, ...]
    max_ir: int | None = None
    max_opset: int | None = None
    listed: tuple[str, ...] = ()
    timed_by: str = ""
