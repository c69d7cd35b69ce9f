"""What every function of the interface does before it uses the runtime."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version

from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import Model
from taso_opt.runtime import RuntimeInfo

Progress = Callable[[str], None]
"""Takes one line that says what is being done now."""


def require_loadable(model: Model, info: RuntimeInfo) -> None:
    """Say up front when the installed runtime is too old for the model."""
    for what, wanted, newest in (
        ("IR version", model.ir_version, info.max_ir),
        ("ai.onnx opset", model.opset, info.max_opset),
    ):
        if newest is not None and wanted > newest:
            raise UnsupportedError(
                f"expected an {what} of at most {newest}, which {info.package} {info.version} loads, "
                f"found {wanted} in {model.path}"
            )


def silent(message: str) -> None:
    """Take progress messages when nobody listens."""


def versions() -> dict[str, str | int]:
    """The machine and the packages that a result depends on, beside the runtime."""
    packages = {name: version(name) for name in ("numpy", "onnx")}
    system = f"{platform.system()} {platform.machine()}"
    return {"python": platform.python_version(), "system": system, "processors": os.cpu_count() or 1, **packages}
