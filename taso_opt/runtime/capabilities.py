"""What the installed runtime can really do, found by loading tiny models; imported in the child process only."""

import re

import onnxruntime as ort

from taso_opt.errors import TasoError
from taso_opt.runtime.gpu import first_gpu
from taso_opt.runtime.installed import CUDA_PROVIDER, installed_runtime
from taso_opt.runtime.sessions import CPU_PROVIDER, ONLY_ERRORS, create_session
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
    from taso_opt.runtime.openvino import version

    return f"{runtime} {version()}"


def identity_model(ir_version: int, opset: int) -> bytes:
    """A serialized model of one Identity on one float, written by hand because this module does not own onnx."""
    scalar = _message(2, _message(1, _varint(1, 1) + _message(2, _message(1, _varint(1, 1)))))
    node = _message(1, _message(1, b"x") + _message(2, b"y") + _message(4, b"Identity"))
    values = _message(11, _message(1, b"x") + scalar) + _message(12, _message(1, b"y") + scalar)
    graph = _message(7, node + _message(2, b"probe") + values)
    return _varint(1, ir_version) + graph + _message(8, _varint(2, opset))


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


def _varint(field: int, value: int) -> bytes:
    return _number(field << 3) + _number(value)


def _message(field: int, content: bytes) -> bytes:
    return _number(field << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    """Protocol buffers' variable-length integer: seven bits a byte, low bits first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
