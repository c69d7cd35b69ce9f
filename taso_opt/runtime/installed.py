"""Which ONNX Runtime distribution is installed, found without importing it, and which device a request means."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taso_opt.core.machine.packages import installed_version
from taso_opt.errors import UnsupportedError, UsageError
from taso_opt.runtime.settings import ONNXRUNTIME, OPENVINO

CPU_PACKAGE = "onnxruntime"
GPU_PACKAGE = "onnxruntime-gpu"
CUDA_PROVIDER = "CUDAExecutionProvider"

CUDA_OPTIONS = (
    "cudnn_conv_algo_search",
    "cudnn_conv_use_max_workspace",
    "cudnn_conv1d_pad_to_nc1d",
    "enable_cuda_graph",
    "enable_skip_layer_norm_strict_mode",
    "fuse_conv_bias",
    "prefer_nhwc",
    "sdpa_kernel",
    "tunable_op_enable",
    "tunable_op_tuning_enable",
    "use_tf32",
)
"""The options of the CUDA provider that change how a model runs, not where or in how much memory."""

INSTALL_COMMAND = 'pip install "tasoopt[cpu]"'
OPENVINO_COMMAND = 'pip install "tasoopt[openvino]"'
REPAIR_COMMAND = f"pip uninstall -y {CPU_PACKAGE} {GPU_PACKAGE} && {INSTALL_COMMAND}  # on an NVIDIA GPU: tasoopt[gpu]"


@dataclass(frozen=True)
class InstalledRuntime:
    """`kind` is 'none', 'onnxruntime', 'onnxruntime-gpu', 'both', or 'other' (the module exists under another name)."""

    kind: str
    version: str | None


def installed_runtime() -> InstalledRuntime:
    """What is installed, from the metadata of the packages; imports nothing heavy."""
    cpu, gpu = installed_version(CPU_PACKAGE), installed_version(GPU_PACKAGE)
    if cpu is not None and gpu is not None:
        return InstalledRuntime("both", gpu)
    if gpu is not None:
        return InstalledRuntime(GPU_PACKAGE, gpu)
    if cpu is not None:
        return InstalledRuntime(CPU_PACKAGE, cpu)
    if importlib.util.find_spec("onnxruntime") is not None:
        return InstalledRuntime("other", None)
    return InstalledRuntime("none", None)


def require_runtime(runtime: str = ONNXRUNTIME) -> InstalledRuntime:
    """The installed ONNX Runtime; raises UnsupportedError with the command that mends it if there is none, or two.

    It is needed also where another `runtime` measures, which is then required as well.
    """
    found = installed_runtime()
    if found.kind == "none":
        raise UnsupportedError(f"expected an ONNX Runtime package, found none; run: {INSTALL_COMMAND}")
    if found.kind == "both":
        raise UnsupportedError(
            f"expected one ONNX Runtime package, found both {CPU_PACKAGE} and {GPU_PACKAGE}, "
            f"which overwrite each other; run: {REPAIR_COMMAND}"
        )
    if runtime == OPENVINO and importlib.util.find_spec("openvino") is None:
        raise UnsupportedError(f"expected the package openvino, found none; run: {OPENVINO_COMMAND}")
    return found


def resolve_device(requested: str, providers: Sequence[str], runtime: str = ONNXRUNTIME) -> str:
    """'cpu' or 'cuda' for a requested 'auto', 'cpu' or 'cuda'; a runtime other than ONNX Runtime has 'cpu' only.

    `providers` are those that really answer (RuntimeInfo.providers), since the package's own list names CUDA on
    machines without a GPU. Raises UsageError for another word, and for 'cuda' with a runtime that does not have it;
    UnsupportedError for 'cuda' where it does not answer.
    """
    if requested not in ("auto", "cpu", "cuda"):
        raise UsageError(f"expected device auto, cpu or cuda, found {requested!r}")
    if runtime != ONNXRUNTIME:
        if requested == "cuda":
            raise UsageError(f"expected device auto or cpu for the runtime {runtime}, found 'cuda'")
        return "cpu"
    if requested == "auto":
        return "cuda" if CUDA_PROVIDER in providers else "cpu"
    if requested == "cuda" and CUDA_PROVIDER not in providers:
        found = ", ".join(providers) or "none"
        raise UnsupportedError(f"expected a CUDA device that answers for device 'cuda', found only: {found}")
    return requested


def provider_options(device: str, wanted: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Options for the CUDA provider in the order of their names; the provider judges their values itself.

    Raises UsageError for one that is not among `CUDA_OPTIONS`, and for any where the device is not 'cuda'.
    """
    if wanted and device != "cuda":
        raise UsageError(f"expected device cuda where options of its provider are given, found {device!r}")
    for name in wanted:
        if name not in CUDA_OPTIONS:
            raise UsageError(f"expected an option of the CUDA provider among {', '.join(CUDA_OPTIONS)}, found {name!r}")
    return tuple(sorted(wanted.items()))
