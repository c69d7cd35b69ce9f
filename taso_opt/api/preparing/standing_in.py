"""Models that stand in for the user's before the search: the same in every way that can be tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from taso_opt.api.finals.contest import feeds_at_other_sizes
from taso_opt.api.job import Job
from taso_opt.api.sizes import read_at_sizes, sizes_of, with_seen_sizes
from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.errors import TasoError
from taso_opt.onnx_io import (
    Model,
    ModelInput,
    ModelProto,
    computes_in_singles,
    deciding_values,
    keeps_signature,
    save_atomically,
    seeded,
)
from taso_opt.runtime import run_feeds
from taso_opt.search.judging.agreement import Feed, agreement
from taso_opt.search.judging.feeds import other_sizes, sample_feeds

MOST_DECISIONS = 8
RUN_LIMIT_S = 30.0


def standing_in(job: Job, proto: ModelProto) -> Model | None:
    """A model, read, under the name of the original; None if it computes something else.

    They are compared on the inputs of the check, with the values that decide between bodies, at sizes near those and at
    size 1, wherever the original runs there. Raises UncheckableError where they cannot be compared.
    """
    if not keeps_signature(job.source.proto, proto):
        return None
    with scratch_folder() as folder:
        file = _saved(job, proto, folder / "other.onnx")
        model = read_at_sizes(file, sizes_of(job.source), job.samples)
        if model.inputs != job.source.inputs:
            return None
        original = job.source.path
        if seeded(job.source.proto) is not None:
            original = _saved(job, job.source.proto, folder / "original.onnx")
        drawn = sample_feeds(job.source.inputs, job.samples, job.settings.seed, kind=job.kind)
        other = [feed for feed in (*_decided(job, drawn[0]), *_elsewhere(job)) if _runs(job, original, feed)]
        named = feeds_at_other_sizes(job, original, job.source.inputs) if len(job.settings.bindings) > 1 else []
        feeds = [*drawn, *named, *other]
        agreed = agreement(job.process, original, file, feeds, job.run.judge, computes_in_singles(job.source.proto))
        if agreed.failure or agreed.reasons:
            return None
        model = with_seen_sizes(model, job.samples, job.process, job.run)
    return model.as_of(job.source.path, proto)


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
        if name in feed and _may_be(feed[name].dtype, value):
            yield {**feed, name: np.full_like(feed[name], value)}


def _may_be(kind: np.dtype[Any], value: float) -> bool:
    """Whether a type has a number: what has its name in another body may be of another type."""
    if kind.kind == "i":
        return bool(np.iinfo(kind).min <= value <= np.iinfo(kind).max)
    return kind.kind in "bf"


def _elsewhere(job: Job) -> Iterator[Feed]:
    """Inputs at other sizes, where any are open: whether a value has an axis less often hangs on a size 1."""
    smallest = _smallest(job.source.inputs)
    if smallest == list(job.source.inputs):
        return
    for inputs in (*other_sizes(job.source.inputs), smallest):
        with suppress(TasoError):
            yield sample_feeds(inputs, (), job.settings.seed, 1, job.kind)[0]


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
