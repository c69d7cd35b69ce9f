"""Rewrites the bodies of control flow by rules before the search: each is optimized as a model of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from taso_opt.api.job import Job
from taso_opt.api.sizes import with_seen_sizes
from taso_opt.api.standing_in import standing_in
from taso_opt.core.rule import Rule
from taso_opt.core.scratch import scratch_folder
from taso_opt.errors import TasoError
from taso_opt.onnx_io import (
    InnerModel,
    Model,
    ModelProto,
    has_plain_bodies,
    inner_models,
    operator_counts,
    read_model,
    save_atomically,
    with_inner_models,
)
from taso_opt.spec import load_specs

log = logging.getLogger(__name__)

FINALS_S = 10.0
"""What the finals of a body may count on beside its search."""

Found = tuple[ModelProto, tuple[Rule, ...]]
"""A model that computes the same, and the rules that made it, as often as they were applied."""

Optimize = Callable[[Job], Found | None]
"""What optimizes a job whose model is a body: a faster model, None where there is none."""


def with_rewritten_bodies(job: Job, optimize: Optimize) -> Job:
    """The job with a model to search whose bodies are rewritten, or as it is: where none gains, or anything fails.

    A body is compared with itself on random values of all that it takes, and timed alone. The whole is compared once
    more.
    """
    if job.obstacle or not job.goal.is_plain_latency or not has_plain_bodies(job.model.proto):
        return job
    try:
        proto, rules = _rewritten(job, job.model, optimize)
        model = standing_in(job, proto) if rules else None
    except TasoError as error:
        log.info("bodies stay as they are: %s", error)
        return job
    return job if model is None else replace(job, model=model, inner_rules=rules)


def _rewritten(job: Job, model: Model, optimize: Optimize) -> Found:
    """A model with its bodies rewritten, those in bodies first."""
    changed, applied = list[tuple[InnerModel, ModelProto]](), list[Rule]()
    for inner in inner_models(model):
        if time.monotonic() > job.deadline:
            break
        found = _optimized(job, inner, optimize)
        if found is not None:
            changed.append((inner, found[0]))
            applied.extend(found[1])
    return with_inner_models(model.proto, changed) if changed else model.proto, tuple(applied)


def _optimized(job: Job, inner: InnerModel, optimize: Optimize) -> Found | None:
    """The model of a body rewritten, with the bodies in it; None where nothing gains."""
    proto, applied = inner.proto, tuple[Rule, ...]()
    try:
        with scratch_folder() as folder:
            model = _read(inner, proto, folder / "body.onnx")
            if not inner.keeps_types(model):
                return None
            proto, applied = _rewritten(job, model, optimize)
            if applied:
                model = _read(inner, proto, folder / "rewritten.onnx")
            model = with_seen_sizes(model, (), job.process, job.run)
            job.tell(f"optimizing a body of {len(proto.graph.node)} operators")
            found = optimize(_job_of(job, model))
            if found is not None:
                proto, applied = found[0], (*applied, *found[1])
    except TasoError as error:
        log.info("a body stays as it is: %s", error)
    return (proto, applied) if applied else None


def _read(inner: InnerModel, proto: ModelProto, file: Path) -> Model:
    save_atomically(proto, file, original=file, durable=False)
    return read_model(file, load_specs(), inner.dims)


def _job_of(job: Job, model: Model) -> Job:
    """The optimization of a body: by random values, within its share of the time."""
    here, all_ = (sum(operator_counts(proto).values()) for proto in (model.proto, job.model.proto))
    budget = job.budget * min(1.0, here / max(all_, 1))
    deadline = time.monotonic() + budget + FINALS_S
    settings = replace(job.settings, dims={}, inputs=None, output=None)
    return replace(
        job, source=model, model=model, settings=settings, samples=(), passes=(), budget=budget, deadline=deadline
    )
