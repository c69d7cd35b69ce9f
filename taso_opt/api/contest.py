"""Holds the finals of a search, and remembers how they ended: the same question gets the same answer again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from pathlib import Path

from taso_opt import __version__
from taso_opt.api.job import Job
from taso_opt.core.graph import Graph
from taso_opt.core.scratch import scratch_folder
from taso_opt.cost import CostTable, Decision
from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.onnx_io import (
    Model,
    ModelProto,
    computes_in_singles,
    read_model,
    rounds_to_integers,
    save_atomically,
    seeded,
    write_model,
)
from taso_opt.runtime import run_feeds
from taso_opt.search.feeds import SEEDS, other_sizes, sample_feeds, timing_feeds
from taso_opt.search.finals import Finals, Standard, Trial, hold_finals
from taso_opt.search.plan import Plan
from taso_opt.search.samples import Sample
from taso_opt.spec import load_specs

OTHER_SIZES_LIMIT_S = 30.0
"""For trying whether a model runs at other sizes than those assumed."""


@dataclass(frozen=True)
class Contest:
    """How the finals ended; `recalled` is the earlier decision that they followed, None where they were open.

    Where the earlier decision is that the original stays, `finals` is None: nothing was measured again.
    """

    finals: Finals | None
    recalled: Decision | None = None


def rewritten(model: Model, plan: Plan) -> ModelProto:
    """The model as a plan has it."""
    return write_model(model, Graph(model.graph.inputs, plan.outputs))


def hold_contest(job: Job, plans: Sequence[Plan], standard: Standard, place: str) -> Contest:
    """Hold the finals of the plans' models, or follow the decision of earlier finals of the same on the same `place`.

    The winner of earlier finals is compared and timed again; only where it is now slower than the original beyond the
    noise are new finals held. Unseeded random operators get seeds for all that, to be comparable at all. Raises as
    hold_finals does.
    """
    feeds = sample_feeds(job.model.inputs, job.samples, job.settings.seed)
    timing = timing_feeds(job.model.inputs, job.samples, job.settings.seed)
    path, proto = job.model.path, seeded(job.model.proto)
    with scratch_folder() as folder, CostTable() as table:
        original, model = path, job.model
        if proto is not None:
            original, model = folder / "original.onnx", replace(job.model, proto=proto)
            save_atomically(proto, original, original=path, durable=False)
        feeds += _feeds_at_other_sizes(job, original)
        source = job.model.proto
        trial = Trial(feeds, timing, job.run, computes_in_singles(source), rounds_to_integers(source))
        candidates = [folder / f"candidate{number}.onnx" for number in range(len(plans))]
        for plan, file in zip(plans, candidates, strict=True):
            save_atomically(rewritten(model, plan), file, original=path, durable=False)
        question = _question(job, plans, standard)
        known = table.decision(place, question)
        if known is not None and known.winner is None:
            return Contest(None, known)
        if known is not None and known.winner is not None and known.winner < len(plans):
            finals = hold_finals(job.process, original, candidates, trial, standard, known.winner, job.tell)
            if finals.finalist is not None and finals.finalist.won:
                return Contest(finals, known)
        finals = hold_finals(job.process, original, candidates, trial, standard, heard=job.tell)
        if finals.finalist is not None:
            table.decide(place, question, finals.finalist.number if finals.finalist.won else None)
        return Contest(finals)


def _feeds_at_other_sizes(job: Job, original: Path) -> list[Sample]:
    """Inputs at the further sizes that the user gives, else at sizes near the assumed ones at which the model runs."""
    model, bindings, seed = job.model, job.settings.bindings[1:], job.settings.seed + SEEDS
    if bindings:
        models = [read_model(model.path, load_specs(), binding) for binding in bindings]
        return [sample_feeds(other.inputs, (), seed + at, 1)[0] for at, other in enumerate(models)]
    for inputs in () if job.samples or job.settings.dims else other_sizes(model.inputs):
        with suppress(RuntimeFailure, UnsupportedError):
            feeds = sample_feeds(inputs, (), seed, 1)
            run_feeds(job.process, original, feeds, job.run, timeout_s=OTHER_SIZES_LIMIT_S)
            return feeds
    return []


def _question(job: Job, plans: Sequence[Plan], standard: Standard) -> str:
    """A digest of all that the answer depends on: model, plans, seed, inputs, what decides, version of this tool."""
    found = sha256(repr((__version__, job.settings.seed, sorted(job.settings.dims.items()), standard)).encode())
    with job.model.path.open("rb") as stream:
        found.update(file_digest(stream, "sha256").digest())
    for plan in plans:
        found.update(b"plan" + b"".join(output.digest for output in plan.outputs))
    for sample in job.samples:
        for name, array in sorted(sample.items()):
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update(str(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())
    return found.hexdigest()
