"""Where arrays of residues live: in main memory with NumPy, or on a GPU with CuPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from taso_opt.errors import UnsupportedError, UsageError

NUMPY, CUPY = "numpy", "cupy"


@dataclass(frozen=True)
class ArrayModule:
    """How NumPy arrays reach a device and come back; NumPy's own functions accept the arrays of both."""

    asarray: Callable[[Any], Any]
    asnumpy: Callable[[Any], Any]


IN_MEMORY = ArrayModule(np.asarray, np.asarray)


def array_module(name: str) -> ArrayModule:
    """The module that is called `numpy` or `cupy`; UnsupportedError where CuPy or a GPU is missing."""
    if name == NUMPY:
        return IN_MEMORY
    if name != CUPY:
        raise UsageError(f"expected {NUMPY} or {CUPY} for --array, found {name!r}")
    try:
        import cupy
    except ImportError as error:
        raise UnsupportedError("expected CuPy for --array cupy, found none: pip install cupy-cuda13x") from error
    if not cupy.cuda.is_available():
        raise UnsupportedError("expected a GPU for --array cupy, found none")
    return ArrayModule(cupy.asarray, cupy.asnumpy)
