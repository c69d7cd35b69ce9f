"""Says in time that memory does not suffice to time whole models, before the system ends processes for that."""

from __future__ import annotations

from taso_opt.api.job import Job
from taso_opt.core.machine.memory import free_memory
from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import weight_bytes


def require_room(job: Job, folded_bytes: int) -> None:
    """UnsupportedError where there is no room for the sessions of the finals, in one sentence.

    These are the original, the original once more as its control, and a candidate, which has up to `folded_bytes` of
    weights; what is made of weights while it is loaded, or the file itself, is in memory beside them. On a GPU weights
    are elsewhere.
    """
    if job.run.on_gpu:
        return
    weights = weight_bytes(job.source)
    needed = 2 * weights + 2 * max(folded_bytes, weights)
    free = free_memory()
    if needed > free:
        found, wanted = (f"{value / 1e6:.0f} MB" for value in (free, needed))
        raise UnsupportedError(f"expected {wanted} of free memory to time the model beside itself, found {found}")
