"""Lets one other tool rewrite one model, in a process of its own: it may crash, hang or print what it likes.

Usage: python peer_worker.py TOOL MODEL OUTPUT
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx


def onnxsim(source: str) -> Any:
    """What onnxsim makes of a model, with its defaults."""
    model, checked = import_module("onnxsim").simplify(source)
    if not checked:
        raise ValueError("its own check of the result failed")
    return model


def onnxslim(source: str) -> Any:
    """What onnxslim makes of a model, with its defaults."""
    return import_module("onnxslim").slim(source)


def onnxscript(source: str) -> Any:
    """What the optimizer of onnxscript makes of a model, with its defaults."""
    return import_module("onnxscript.optimizer").optimize(onnx.load(source))


def transformers(source: str) -> Any:
    """What the runtime's tool for transformers makes of a model of the type that it assumes, with its own fusions.

    Its option to run the runtime's optimizations first is off: it needs a package of another framework, and the result
    is run under them anyway. NumPy 2.4 refuses float(array of one element), which the tool still does; it gets a float
    that takes them, because its fusions are of interest here.
    """
    optimize = import_module("onnxruntime.transformers.optimizer").optimize_model
    for name, module in list(sys.modules.items()):
        if name.startswith("fusion_"):  # it imports its own modules under top-level names
            vars(module)["float"] = _float
    return optimize(source, model_type="bert", opt_level=0).model


def _float(value: Any) -> float:
    return float(np.asarray(value).item())


TOOLS: dict[str, Callable[[str], Any]] = {
    "onnxsim": onnxsim,
    "onnxslim": onnxslim,
    "onnxscript": onnxscript,
    "transformers": transformers,
}


def main(tool: str, source: str, output: str) -> None:
    """Write what the tool makes of the model."""
    onnx.save(TOOLS[tool](source), Path(output))


if __name__ == "__main__":
    main(*sys.argv[1:])
