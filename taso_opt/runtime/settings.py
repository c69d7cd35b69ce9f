"""How a model is run (device, threads, seed) and what the installed runtime can do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RunSettings:
    """Where and how a session runs; `threads` 0 leaves the number to the runtime, `seed` drives every random choice."""

    device: str = "cpu"
    threads: int = 1
    seed: int = 0


ONE_CPU_THREAD = RunSettings()


@dataclass(frozen=True)
class RuntimeInfo:
    """What the installed runtime is and what it really does here.

    `providers` are those for which a session, once created, says that it uses them; `listed` are those the package
    merely claims (it lists CUDA on machines without a GPU). `max_ir` and `max_opset` are the newest ONNX file format
    and ai.onnx opset that it loads, None where its answer could not be read.
    """

    package: str
    version: str
    providers: tuple[str, ...]
    max_ir: int | None = None
    max_opset: int | None = None
    listed: tuple[str, ...] = ()
