"""How a model is run (device, threads, seed, runtime) and what the installed runtime can do."""

from __future__ import annotations

from dataclasses import dataclass, replace

ONNXRUNTIME, OPENVINO = "onnxruntime", "openvino"
TITLES = {ONNXRUNTIME: "ONNX Runtime", OPENVINO: "OpenVINO"}
"""The runtimes that models are timed in, by the names that users give."""

GRAPHS, SHORT_PRODUCTS = "enable_cuda_graph", "use_tf32"
"""Options of the CUDA provider: whether a run is captured once and replayed, and whether products may round their
factors to TF32, which has as many digits as float16 (the provider's own choice, unless it is told otherwise)."""


@dataclass(frozen=True)
class RunSettings:
    """Where and how a session runs; `threads` 0 leaves the number to the runtime, `seed` drives every random choice.

    `options` are those of the CUDA provider, by name, in the order of their names; none on another device.
    """

    device: str = "cpu"
    threads: int = 1
    seed: int = 0
    runtime: str = ONNXRUNTIME
    options: tuple[tuple[str, str], ...] = ()

    @property
    def provider(self) -> str:
        """The device with the options of its provider, as costs name what they hold for."""
        return " ".join([self.device, *(f"{name}={value}" for name, value in self.options)])

    @property
    def on_gpu(self) -> bool:
        """Whether sessions run on a GPU."""
        return self.device == "cuda"

    @property
    def captures(self) -> bool:
        """Whether a run is captured once, as a CUDA graph, and replayed."""
        return self._is_on(GRAPHS, "0")

    @property
    def is_short(self) -> bool:
        """Whether products may be computed with fewer digits than their operands have."""
        return self.on_gpu and self._is_on(SHORT_PRODUCTS, "1")

    @property
    def judge(self) -> RunSettings:
        """The same in ONNX Runtime and with all digits: there it is decided whether outputs are right."""
        plain = replace(self.uncaptured, runtime=ONNXRUNTIME)
        return plain._with(SHORT_PRODUCTS, "0") if self.is_short else plain

    @property
    def uncaptured(self) -> RunSettings:
        """The same without CUDA graphs, which compute the same but take no inputs from outside of the device."""
        return self._with(GRAPHS, "0") if self.captures else self

    def _is_on(self, name: str, otherwise: str) -> bool:
        return dict(self.options).get(name, otherwise).lower() in ("1", "true")

    def _with(self, name: str, value: str) -> RunSettings:
        return replace(self, options=tuple(sorted({**dict(self.options), name: value}.items())))


ONE_CPU_THREAD = RunSettings()


@dataclass(frozen=True)
class RuntimeInfo:
    """What the installed runtime is and what it really does here.

    `providers` are those for which a session, once created, says that it uses them; `listed` are those the package
    merely claims (it lists CUDA on machines without a GPU). `max_ir` and `max_opset` are the newest ONNX file format
    and ai.onnx opset that it loads, None where its answer could not be read. `timed_by` is the package and version of
    another runtime that costs and latencies are measured in, "" where it is this one. `gpu` is the GPU that CUDA
    answers on, with its driver; "" without one.
    """

    package: str
    version: str
    providers: tuple[str, ...]
    max_ir: int | None = None
    max_opset: int | None = None
    listed: tuple[str, ...] = ()
    timed_by: str = ""
    gpu: str = ""
