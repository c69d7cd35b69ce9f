"""What the installed runtime can really do, found by loading tiny models."""

import re

import onnxruntime as ort

from taso_opt.errors import TasoError
from taso_opt.onnx_io.probes.smallest import identity_model
from taso_opt.runtime.child.sessions import CPU_PROVIDER, ONLY_ERRORS, create_session
from taso_opt.runtime.gpu import first_gpu
from taso_opt.runtime.installed import CUDA_PROVIDER, installed_runtime
from taso_opt.runtime.settings import ONNXRUNTIME, RunSettings, RuntimeInfo

SAFE_IR, SAFE_OPSET = 8, 13
FUTURE = 1000  # a version that no runtime knows: its refusal says which it does


def capabilities(runtime: str) -> RuntimeInfo:
    """Package, version, providers that answer, the newest IR version and opset that load, and what measures.

    Raises UnsupportedError where the `runtime` that measures does not import.
    """
    package = installed_runtime().kind
    listed = tuple(ort.get_available_providers())
    providers = tuple(name for name in listed if _answers(name))
    return RuntimeInfo(
        package="onnxruntime" if package == "other" else package,
        version=ort.__version__,
        providers=providers,
        max_ir=_newest(identity_model(FUTURE, SAFE_OPSET), r"max supported IR version: (\d+)"),
        max_opset=_newest(identity_model(SAFE_IR, FUTURE), r"support for domain ai\.onnx is till opset (\d+)"),
        listed=listed,
        timed_by=_timed_by(runtime),
        gpu=first_gpu() if CUDA_PROVIDER in providers else "",
    )


def _timed_by(runtime: str) -> str:
    if runtime == ONNXRUNTIME:
        return ""
    from taso_opt.runtime.child.openvino import version

    return f"{runtime} {version()}"


def _answers(provider: str) -> bool:
    options = ort.SessionOptions()
    options.log_severity_level = ONLY_ERRORS
    if provider.startswith("CUDA") and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()
    model = identity_model(SAFE_IR, SAFE_OPSET)
    names = [provider] if provider == CPU_PROVIDER else [provider, CPU_PROVIDER]
    try:
        return provider in ort.InferenceSession(model, options, providers=names).get_providers()
    except Exception:  # noqa: BLE001 - whatever a provider raises here means that it does not answer
        return False


def _newest(model: bytes, pattern: str) -> int | None:
    try:
        create_session(model, RunSettings())
    except TasoError as error:
        match = re.search(pattern, str(error.__cause__))
        return int(match.group(1)) if match else None
    return None
