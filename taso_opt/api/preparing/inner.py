"""Rewrites loops and the bodies of control flow before the search: each is optimized as a model of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from taso_opt.api.job import Job
from taso_opt.api.preparing.standing_in import standing_in
from taso_opt.api.sizes import sizes_of, with_seen_sizes
from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.core.rule import Rule
from taso_opt.errors import TasoError
from taso_opt.onnx_io import (
    InnerModel,
    LoopModel,
    Model,
    ModelProto,
    has_plain_bodies,
    inner_models,
    loop_models,
    operator_counts,
    read_model,
    save_atomically,
    with_inner_models,
    with_loop_models,
)
from taso_opt.search.judging.feeds import NOISE
from taso_opt.spec import load_specs

log = logging.getLogger(__name__)

P = TypeVar("P")

FINALS_S = 10.0
"""What the finals of a part may count on beside its search."""

WRITTEN_OUT = "loops written out turn by turn: {}"

Optimize = Callable[[Job], tuple[ModelProto, tuple[Rule, ...]] | None]
"""What optimizes a job: a faster model and the rules that made it; None where there is none."""


@dataclass(frozen=True)
class _Rewritten:
    """A model that computes the same, the rules that made it, as often as they were applied, and loops written out."""

    proto: ModelProto
    rules: tuple[Rule, ...] = ()
    loops: int = 0

    @property
    def is_new(self) -> bool:
        """Whether anything was changed."""
        return bool(self.rules or self.loops)


def with_rewritten_bodies(job: Job, optimize: Optimize) -> Job:
    """The job with a model to search whose loops are written out and whose bodies are rewritten, where that gains.

    A part is compared with itself on random values of all that it takes, and timed alone. The whole is compared once
    more. The job comes back as it is where nothing gains, or anything fails.
    """
    if job.obstacle or not job.goal.is_plain_latency or not has_plain_bodies(job.model.proto):
        return job
    try:
        found = _rewritten(job, job.model, optimize)
        model = standing_in(job, found.proto) if found.is_new else None
    except TasoError as error:
        log.info("bodies stay as they are: %s", error)
        return job
    if model is None:
        return job
    passes = (*job.passes, WRITTEN_OUT.format(found.loops)) if found.loops else job.passes
    return replace(job, model=model, passes=passes, inner_rules=found.rules)


def _rewritten(job: Job, model: Model, optimize: Optimize) -> _Rewritten:
    """A model with its loops written out, as far as that gains, and other bodies rewritten, those in bodies first."""
    with scratch_folder() as folder:
        loops = _each(job, loop_models(model), lambda loop: _written_out(job, loop, optimize))
        if loops:
            file = folder / "unrolled.onnx"
            proto = with_loop_models(model.proto, [(loop, found.proto) for loop, found in loops])
            model = _read(proto, sizes_of(model), file, model.path).as_of(model.path, proto)
        inner = _each(job, inner_models(model), lambda body: _optimized(job, body, optimize))
    proto = with_inner_models(model.proto, [(body, found.proto) for body, found in inner]) if inner else model.proto
    parts = [found for _, found in (*loops, *inner)]
    rules = tuple(rule for found in parts for rule in found.rules)
    return _Rewritten(proto, rules, sum(found.loops for found in parts))


def _each(job: Job, parts: Iterable[P], rewrite: Callable[[P], _Rewritten]) -> list[tuple[P, _Rewritten]]:
    """Those parts that become faster, with what they become; none are begun beyond the job's time."""
    tried = ((part, rewrite(part)) for part in takewhile(lambda _: time.monotonic() < job.deadline, parts))
    return [(part, found) for part, found in tried if found.is_new]


def _written_out(job: Job, loop: LoopModel, optimize: Optimize) -> _Rewritten:
    """The model of a loop with its turns written out and rewritten; as it is where that is no faster than the loop."""
    same = _Rewritten(loop.part.proto)
    job.tell(f"optimizing a loop of {loop.turns} turns")
    try:
        with scratch_folder() as folder:
            source = _read(loop.part.proto, loop.part.dims, folder / "loop.onnx")
            model = _read(loop.unrolled, loop.part.dims, folder / "unrolled.onnx")
            model = replace(with_seen_sizes(model, (), job.process, job.run), path=source.path)
            found = optimize(replace(_job_of(job, source), model=model, passes=(WRITTEN_OUT.format(1),)))
    except TasoError as error:
        log.info("a loop stays as it is: %s", error)
        return same
    return same if found is None else _Rewritten(*found, loops=1)


def _optimized(job: Job, inner: InnerModel, optimize: Optimize) -> _Rewritten:
    """The model of a body rewritten, with the bodies in it; as it is where nothing gains."""
    result = _Rewritten(inner.part.proto)
    try:
        with scratch_folder() as folder:
            model = _read(inner.part.proto, inner.part.dims, folder / "body.onnx")
            if not inner.keeps_types(model):
                return result
            result = _rewritten(job, model, optimize)
            if result.is_new:
                model = _read(result.proto, inner.part.dims, folder / "rewritten.onnx")
            model = with_seen_sizes(model, (), job.process, job.run)
            job.tell(f"optimizing a body of {len(model.proto.graph.node)} operators")
            found = optimize(_job_of(job, model))
            if found is not None:
                result = _Rewritten(found[0], (*result.rules, *found[1]), result.loops)
    except TasoError as error:
        log.info("a body stays as it is: %s", error)
    return result


def _read(proto: ModelProto, dims: Mapping[str, int], file: Path, original: Path | None = None) -> Model:
    save_atomically(proto, file, original=original or file, durable=False)
    return read_model(file, load_specs(), dims)


def _job_of(job: Job, model: Model) -> Job:
    """The optimization of a part: by random values, within its share of the time."""
    here, all_ = (sum(operator_counts(proto).values()) for proto in (model.proto, job.model.proto))
    budget = job.budget * min(1.0, here / max(all_, 1))
    deadline = time.monotonic() + budget + FINALS_S
    settings = replace(job.settings, dims={}, inputs=None, output=None)
    return replace(
        job,
        source=model,
        model=model,
        settings=settings,
        samples=(),
        kind=NOISE,
        passes=(),
        saved_s=0.0,
        budget=budget,
        deadline=deadline,
    )
