"""Cleans up a model with control flow before the search, where that can be done and checked."""

from __future__ import annotations

from dataclasses import replace

from taso_opt.api.job import Job
from taso_opt.api.preparing.standing_in import standing_in
from taso_opt.errors import TasoError, UncheckableError
from taso_opt.onnx_io import (
    ModelProto,
    Tidied,
    has_plain_bodies,
    operator_counts,
)
from taso_opt.runtime import tidy

PASS = "clean-up of the bodies of control flow: {} operators became {}"
ON_RANKS = ", taking the file's word for the ranks of inner values"
UNCHECKED = (
    "a clean-up of the bodies of control flow was left out, because the model does not run on random inputs of these "
    "sizes to check it (--dim gives other sizes, --inputs your own inputs): {}"
)


def with_tidied_model(job: Job) -> Job:
    """The job with the cleaned model to search, or as it is: without bodies, by another goal, where anything fails.

    A clean-up is not proved, so the cleaned model must give the original's outputs before anything is built on it.
    """
    if job.obstacle or not job.goal.is_plain_latency or not has_plain_bodies(job.source.proto):
        return job
    job.tell("cleaning up the model")
    try:
        found = tidy(job.process, job.source.path)
        if found is None:
            return job
        job.tell("comparing the cleaned model with the original")
        model = standing_in(job, found.model)
    except UncheckableError as error:
        return replace(job, remarks=(*job.remarks, UNCHECKED.format(error)))
    except TasoError:
        return job
    if model is None:
        return job
    return replace(job, model=model, passes=(_described(job.source.proto, found),))


def _described(source: ModelProto, found: Tidied) -> str:
    before, after = (sum(operator_counts(proto).values()) for proto in (source, found.model))
    return PASS.format(before, after) + (ON_RANKS if found.rests_on_ranks else "")
