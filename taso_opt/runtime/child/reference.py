"""What a model computes in float64, as a reference for results in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from taso_opt.errors import RuntimeFailure
from taso_opt.onnx_io.references.doubles import evaluate, in_doubles
from taso_opt.runtime.child.sessions import create_session, run_outputs
from taso_opt.runtime.inputs import Array
from taso_opt.runtime.settings import RunSettings


def run_in_doubles(path: Path, feeds: Sequence[Mapping[str, Array]], settings: RunSettings) -> list[list[Array]]:
    """The outputs of a model on each feed, computed in float64 on the processor, with no optimizations of the runtime.

    Where the runtime lacks a kernel for float64, all is computed by ONNX's reference implementation. Raises as
    in_doubles does, and RuntimeFailure where neither can run the model.
    """
    model = in_doubles(path)
    wide = [{name: _widened(array) for name, array in feed.items()} for feed in feeds]
    content = model.SerializeToString()
    try:
        session = create_session(content, replace(settings, device="cpu"), "none")
        return [run_outputs(session, content, feed) for feed in wide]
    except RuntimeFailure:
        return [evaluate(model, feed) for feed in wide]


def _widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array
