"""Cleans up a model with control flow before the search, where that can be done and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from taso_opt.api.contest import feeds_at_other_sizes
from taso_opt.api.job import Job
from taso_opt.api.sizes import read_at_sizes, sizes_of
from taso_opt.core.scratch import scratch_folder
from taso_opt.errors import TasoError, UncheckableError
from taso_opt.onnx_io import (
    Model,
    ModelInput,
    ModelProto,
    Tidied,
    computes_in_singles,
    deciding_values,
    may_be_tidied,
    operator_counts,
    save_atomically,
    seeded,
    signature,
)
from taso_opt.runtime import run_feeds, tidy
from taso_opt.search.agreement import Feed, agreement
from taso_opt.search.feeds import other_sizes, sample_feeds

PASS = "clean-up of the bodies of control flow: {} operators became {}"
ON_RANKS = ", taking the file's word for the ranks of inner values"
UNCHECKED = (
    "a clean-up of the bodies of control flow was left out, because the model does not run on random inputs of these "
    "sizes to check it (--dim gives other sizes, --inputs your own inputs): {}"
)
MOST_DECISIONS = 8
RUN_LIMIT_S = 30.0


def with_tidied_model(job: Job) -> Job:
    """The job with the cleaned model to search, or as it is: without bodies, by another goal, where anything fails.

    A clean-up is not proved, so the cleaned model must give the original's outputs before anything is built on it: on
    the inputs of the check, with the values that decide between bodies, at sizes near those and at size 1 wherever the
    model runs there.
    """
    if job.obstacle or not job.goal.is_plain_latency or not may_be_tidied(job.source.proto):
        return job
    job.tell("cleaning up the model")
    try:
        found = tidy(job.process, job.source.path)
        model = None if found is None else _checked(job, found)
    except UncheckableError as error:
        return replace(job, remarks=(*job.remarks, UNCHECKED.format(error)))
    except TasoError:
        return job
    if found is None or model is None:
        return job
    return replace(job, model=model, passes=(_described(job.source.proto, found),))


def _described(source: ModelProto, found: Tidied) -> str:
    before, after = (sum(operator_counts(proto).values()) for proto in (source, found.model))
    return PASS.format(before, after) + (ON_RANKS if found.rests_on_ranks else "")


def _checked(job: Job, found: Tidied) -> Model | None:
    """The cleaned model, read, under the name of the original; None if it computes something else."""
    if signature(found.model) != signature(job.source.proto):
        return None
    job.tell("comparing the cleaned model with the original")
    with scratch_folder() as folder:
        file = _saved(job, found.model, folder / "tidied.onnx")
        model = read_at_sizes(file, sizes_of(job.source), job.samples)
        if model.inputs != job.source.inputs:
            return None
        original = job.source.path
        if seeded(job.source.proto) is not None:
            original = _saved(job, job.source.proto, folder / "original.onnx")
        drawn = sample_feeds(job.source.inputs, job.samples, job.settings.seed)
        other = [feed for feed in (*_decided(job, drawn[0]), *_elsewhere(job)) if _runs(job, original, feed)]
        named = feeds_at_other_sizes(job, original, job.source.inputs) if len(job.settings.bindings) > 1 else []
        feeds = [*drawn, *named, *other]
        agreed = agreement(job.process, original, file, feeds, job.run.judge, computes_in_singles(job.source.proto))
        if agreed.failure or agreed.reasons:
            return None
    return replace(model, path=job.source.path, proto=found.model)


def _saved(job: Job, proto: ModelProto, file: Path) -> Path:
    """Where a model lies, with seeds for its random operators."""
    save_atomically(seeded(proto) or proto, file, original=job.source.path, durable=False)
    return file


def _runs(job: Job, original: Path, feed: Feed) -> bool:
    with suppress(TasoError):
        run_feeds(job.process, original, [feed], job.run.judge, timeout_s=RUN_LIMIT_S)
        return True
    return False


def _decided(job: Job, feed: Feed) -> Iterator[Feed]:
    """The inputs with each value that a condition compares one of them with: random ones hardly ever meet it."""
    for name, value in deciding_values(job.source.proto)[:MOST_DECISIONS]:
        if name in feed and feed[name].dtype.kind in "bif":
            yield {**feed, name: np.full_like(feed[name], value)}


def _elsewhere(job: Job) -> Iterator[Feed]:
    """Inputs at other sizes: whether a value has an axis less often hangs on a size 1."""
    for inputs in (*other_sizes(job.source.inputs), _smallest(job.source.inputs)):
        with suppress(TasoError):
            yield sample_feeds(inputs, (), job.settings.seed, 1)[0]


def _smallest(inputs: Sequence[ModelInput]) -> list[ModelInput]:
    """The inputs with size 1 wherever the model leaves it open."""
    return [
        entry
        if entry.bound is None
        else replace(
            entry,
            bound=tuple(
                size if isinstance(dim, int) else 1 for size, dim in zip(entry.bound, entry.shape, strict=True)
            ),
        )
        for entry in inputs
    ]
