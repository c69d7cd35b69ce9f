"""Puts the bodies of local functions in place of their calls before the search, as runtimes do on loading a model."""

from __future__ import annotations

import logging
from dataclasses import replace

from taso_opt.api.job import Job
from taso_opt.api.preparing.standing_in import standing_in
from taso_opt.errors import TasoError
from taso_opt.onnx_io import operator_counts, without_calls

log = logging.getLogger(__name__)

PASS = "calls of local functions replaced by their bodies: from {} to {} operators"


def with_replaced_calls(job: Job) -> Job:
    """The job with a model to search in which rules reach what local functions do; as it is where anything fails.

    That a call computes what the function's body computes is ONNX's definition of it; a library replaces it, so the
    model must give the original's outputs all the same.
    """
    if job.obstacle:
        return job
    try:
        proto = without_calls(job.model.proto)
        if proto is None:
            return job
        job.tell("comparing the model without calls of functions with the original")
        model = standing_in(job, proto)
    except TasoError as error:
        log.info("calls of functions stay as they are: %s", error)
        return job
    if model is None:
        return job
    before, after = (sum(operator_counts(one).values()) for one in (job.model.proto, proto))
    return replace(job, model=model, passes=(*job.passes, PASS.format(before, after)))
