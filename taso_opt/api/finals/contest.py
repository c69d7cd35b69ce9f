"""Holds the finals of a search, and remembers how they ended: the same question gets the same answer again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, overload

from taso_opt.api.finals.question import contest_question
from taso_opt.api.finals.room import require_room
from taso_opt.api.job import Job
from taso_opt.api.sizes import given_bytes, sizes_of
from taso_opt.core.graph import Graph
from taso_opt.cost import CostTable, Decision
from taso_opt.errors import RuntimeFailure, UncheckableError, UnsupportedError
from taso_opt.onnx_io import (
    Cutout,
    Model,
    ModelInput,
    ModelProto,
    computes_in_singles,
    cut_out,
    holds_its_data,
    load_model,
    read_model,
    rounds_to_integers,
    save_atomically,
    seeded,
    weight_bytes,
    write_model,
)
from taso_opt.runtime import run_feeds
from taso_opt.search.judging.agreement import Verdicts
from taso_opt.search.judging.feeds import SEEDS, other_sizes, sample_feeds, timing_feeds
from taso_opt.search.judging.finals import Finals, Standard, Trial, hold_finals
from taso_opt.search.judging.samples import Sample
from taso_opt.search.judging.verdicts import RememberedVerdicts
from taso_opt.search.plan import Plan
from taso_opt.spec import load_specs

OTHER_SIZES_LIMIT_S = 30.0
"""For trying whether a model runs at other sizes than those assumed."""


@dataclass(frozen=True)
class Contest:
    """How the finals ended; `recalled` is the earlier decision that they followed, None where they were open.

    Where the earlier decision is that the original stays, `finals` is None: nothing was measured again. `winner` is the
    winner's file, None where that is not all that is written, as with weights in a file beside it. The cost table knows
    the contest by its `place` and `question`.
    """

    place: str
    question: str
    finals: Finals | None
    recalled: Decision | None = None
    winner: Path | None = None


def rewritten(model: Model, plan: Plan) -> ModelProto:
    """The model as a plan has it."""
    return write_model(model, Graph(model.graph.inputs, plan.outputs))


class CheckedOutput(NamedTuple):
    """A value that a contest compares: one tensor, or a sequence or map, which is compared as any number of them."""

    name: str
    is_tensor: bool = True


def checked_outputs(job: Job) -> tuple[CheckedOutput, ...]:
    """The values that a contest compares: the outputs, or what stands for them where these cannot run."""
    cut = cut_out(job.model) if job.obstacle else None
    if cut is not None:
        return tuple(map(CheckedOutput, cut.names))
    outputs = job.source.proto.graph.output
    several = ("sequence_type", "map_type", "optional_type")
    return tuple(CheckedOutput(value.name, value.type.WhichOneof("value") not in several) for value in outputs)


def hold_contest(
    job: Job, plans: Sequence[Plan], standard: Standard, place: str, folded_bytes: int, folder: Path
) -> Contest:
    """Hold the finals of the plans' models, or follow the decision of earlier finals of the same on the same `place`.

    The winner of earlier finals is compared and timed again; only where it is now slower than the original beyond the
    noise are new finals held. Where the whole cannot run, what is left without the nodes that no specification covers
    stands for it, in the original and in the candidates, which are written to a folder. No plan takes more than
    `folded_bytes` of weights when it runs. Raises as hold_finals and require_room do.
    """
    with CostTable() as table:
        question = contest_question(job, plans, standard)
        ended = partial(Contest, place, question)
        known = table.decision(place, question)
        if known is not None and known.winner is None:
            return ended(None, known)
        stage = _stage(job, folder, folded_bytes, RememberedVerdicts(table, place, question))
        candidates = _Candidates(job, stage, plans, folder)
        require_room(job, folded_bytes)
        if known is not None and known.winner is not None and known.winner < len(plans):
            finals = hold_finals(job.process, stage.original, candidates, stage.trial, standard, known.winner, job.tell)
            if finals.finalist is not None and finals.finalist.won:
                return ended(finals, known, candidates.written(known.winner))
        finals = hold_finals(job.process, stage.original, candidates, stage.trial, standard, heard=job.tell)
        if finals.finalist is None:
            return ended(finals)
        winner = finals.finalist.number if finals.finalist.won else None
        table.decide(place, question, winner)
        return ended(finals, winner=None if winner is None else candidates.written(winner))


@dataclass(frozen=True)
class _Stage:
    """Where the contest takes place: the original's file, how plans become rivals of it, and how they are compared."""

    model: Model
    original: Path
    trial: Trial
    cut: Cutout | None
    as_written: bool
    """Whether plans take part in the form in which they are written."""

    def form(self, plan: Plan) -> ModelProto:
        """The model of a plan as it takes part."""
        whole = rewritten(self.model, plan)
        return whole if self.cut is None else self.cut.apply(whole)


class _Candidates(Sequence[Path]):
    """The files of the plans' models; each is written when it is first asked for, since a large one takes seconds."""

    def __init__(self, job: Job, stage: _Stage, plans: Sequence[Plan], folder: Path) -> None:
        self._job, self._stage, self._plans, self._folder = job, stage, plans, folder

    def __len__(self) -> int:
        return len(self._plans)

    @overload
    def __getitem__(self, at: int) -> Path: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Path]: ...
    def __getitem__(self, at: int | slice) -> Path | Sequence[Path]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        plan, file = self._plans[at], self._folder / f"candidate{at}.onnx"
        if not file.exists():
            self._job.tell(f"writing candidate {at + 1}")
            save_atomically(self._stage.form(plan), file, original=self._job.source.path, durable=False)
        return file

    def written(self, number: int) -> Path | None:
        """The file of a candidate that ran, where it is all that the plan gives."""
        file = self[number]
        return file if self._stage.as_written and holds_its_data(load_model(file)) else None


def _stage(job: Job, folder: Path, folded_bytes: int, verdicts: Verdicts) -> _Stage:
    """Unseeded random operators get seeds, to be comparable at all; what cannot run is cut out."""
    path, source, seed = job.source.path, job.source.proto, job.settings.seed
    original, model, cut = path, job.model, None
    inputs, samples = job.source.inputs, job.samples
    proto = seeded(source)
    if proto is not None:
        model = replace(job.model, proto=seeded(job.model.proto) or job.model.proto)
    if job.obstacle:
        cut = None if job.has_another_base else cut_out(model)
        if cut is None:
            raise UncheckableError(job.obstacle)
        proto, inputs, samples = cut.apply(model.proto), cut.inputs, cut.feeds(samples)
    if proto is not None:
        original = folder / "original.onnx"
        save_atomically(proto, original, original=path, durable=False)
    feeds = [*sample_feeds(inputs, samples, seed, kind=job.kind), *feeds_at_other_sizes(job, original, inputs)]
    timing = timing_feeds(inputs, samples, seed, given_bytes(job.source))
    judged = computes_in_singles(source), rounds_to_integers(source)
    trial = Trial(feeds, timing, job.run, *judged, job.deadline, weight_bytes(job.source), folded_bytes, verdicts)
    return _Stage(model, original, trial, cut, proto is None)


def feeds_at_other_sizes(job: Job, original: Path, inputs: Sequence[ModelInput]) -> list[Sample]:
    """Inputs at the further sizes that the user gives, else at sizes near the assumed ones at which the model runs."""
    bindings, seed = job.settings.bindings[1:], job.settings.seed + SEEDS
    if bindings:
        named = [{**sizes_of(job.source), **binding} for binding in bindings]
        models = [read_model(job.source.path, load_specs(), sizes) for sizes in named]
        cuts = [cut_out(other) if job.obstacle else None for other in models]
        sizes = [other.inputs if cut is None else cut.inputs for other, cut in zip(models, cuts, strict=True)]
        return [sample_feeds(other, (), seed + at, 1, job.kind)[0] for at, other in enumerate(sizes)]
    for larger in () if job.samples or job.settings.dims else other_sizes(inputs):
        with suppress(RuntimeFailure, UnsupportedError):
            feeds = sample_feeds(larger, (), seed, 1, job.kind)
            for run in dict.fromkeys((job.run.judge, job.run)):
                run_feeds(job.process, original, feeds, run, timeout_s=OTHER_SIZES_LIMIT_S)
            return feeds
    return []
