"""Says in time that a machine lacks the memory to time whole models, before its system ends processes for that."""

from __future__ import annotations

import psutil

from taso_opt.api.job import Job
from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import weight_bytes

SESSIONS = 3
"""The original, the original once more as its control, and a candidate, all at once."""


def require_room(job: Job, folded_bytes: int) -> None:
    """UnsupportedError where there is no room for the sessions of the finals, in one sentence.

    A candidate takes up to `folded_bytes` of weights, and a model is in memory twice while it is loaded. On a GPU
    weights are elsewhere.
    """
    if job.run.on_gpu:
        return
    weights = weight_bytes(job.source)
    needed = SESSIONS * weights + max(folded_bytes, weights)
    free = psutil.virtual_memory().available
    if needed > free:
        found, wanted = (f"{value / 1e9:.1f} GB" for value in (free, needed))
        raise UnsupportedError(f"expected {wanted} of free memory to time the model beside itself, found {found}")
