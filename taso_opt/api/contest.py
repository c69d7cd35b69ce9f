"""Holds the finals of a search, and remembers how they ended: the same question gets the same answer again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from taso_opt import __version__
from taso_opt.api.job import Job
from taso_opt.core.graph import Graph
from taso_opt.cost import CostTable, Decision
from taso_opt.onnx_io import ModelProto, save_atomically, seeded, write_model
from taso_opt.search.feeds import sample_feeds, timing_feeds
from taso_opt.search.finals import Finals, Standard, hold_finals
from taso_opt.search.plan import Plan


@dataclass(frozen=True)
class Contest:
    """How the finals ended; `recalled` is the earlier decision that they followed, None where they were open.

    Where the earlier decision is that the original stays, `finals` is None: nothing was measured again.
    """

    finals: Finals | None
    recalled: Decision | None = None


def rewritten(job: Job, plan: Plan) -> ModelProto:
    """The job's model as a plan has it."""
    return write_model(job.model, Graph(job.model.graph.inputs, plan.outputs))


def hold_contest(job: Job, plans: Sequence[Plan], standard: Standard, place: str) -> Contest:
    """Hold the finals of the plans' models, or follow the decision of earlier finals of the same on the same `place`.

    The winner of earlier finals is compared and timed again; only where it is now slower than the original beyond the
    noise are new finals held. Unseeded random operators get seeds for all that, to be comparable at all. Raises as
    hold_finals does.
    """
    feeds = sample_feeds(job.model.inputs, job.samples, job.settings.seed)
    timing = timing_feeds(job.model.inputs, job.samples, job.settings.seed)
    path, proto = job.model.path, seeded(job.model.proto)
    with TemporaryDirectory(prefix="tasoopt-") as folder, CostTable() as table:
        original, model = path, job.model
        if proto is not None:
            original, model = Path(folder) / "original.onnx", replace(job.model, proto=proto)
            save_atomically(proto, original, original=path, durable=False)
        candidates = [Path(folder) / f"candidate{number}.onnx" for number in range(len(plans))]
        for plan, file in zip(plans, candidates, strict=True):
            candidate = write_model(model, Graph(model.graph.inputs, plan.outputs))
            save_atomically(candidate, file, original=path, durable=False)
        question = _question(job, plans, standard)
        known = table.decision(place, question)
        if known is not None and known.winner is None:
            return Contest(None, known)
        if known is not None and known.winner is not None and known.winner < len(plans):
            finals = hold_finals(
                job.process, original, candidates, feeds, timing, job.run, standard, champion=known.winner
            )
            if finals.finalist is not None and finals.finalist.won:
                return Contest(finals, known)
        finals = hold_finals(job.process, original, candidates, feeds, timing, job.run, standard)
        if finals.finalist is not None:
            table.decide(place, question, finals.finalist.number if finals.finalist.won else None)
        return Contest(finals)


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
