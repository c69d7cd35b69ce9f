"""Optimizes a model file: read, search, compare, measure, write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from taso_opt import __version__
from taso_opt.api.evidence import Evidence, evidence
from taso_opt.api.session import Progress, require_loadable, require_running, silent, usable_rules, versions
from taso_opt.api.settings import OptimizeSettings
from taso_opt.api.summary import applied_rules, output_errors, search_summary, with_measurement
from taso_opt.core.graph import Graph
from taso_opt.cost import CostModel, CostTable, Measurer
from taso_opt.errors import MismatchError, UncheckableError, UnsupportedError
from taso_opt.onnx_io import (
    Model,
    ModelProto,
    bytes_added,
    check_output,
    copy_unchanged,
    operator_counts,
    read_model,
    save_atomically,
    seeded,
    spellable,
    weight_bytes,
    write_model,
)
from taso_opt.report.record import Record
from taso_opt.rewrite.steps import Rewriter
from taso_opt.runtime import RunSettings, RuntimeInfo, RuntimeProcess, probe, require_runtime, resolve_device
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.feeds import sample_feeds, timing_feeds
from taso_opt.search.finals import FailedCheck, Finals, hold_finals
from taso_opt.search.plan import Plan, SearchLimits, SearchResult
from taso_opt.search.samples import Sample, read_samples
from taso_opt.spec import load_specs

FINALISTS, MOST_FINALISTS, LIGHT_BYTES = 3, 8, 64 << 20
"""How many plans are measured whole, the cheapest for different numbers of rules: predictions rank them only roughly.

A model with fewer bytes of weights than LIGHT_BYTES is loaded and run in no time, and more of them get their chance.
"""

LEAST_PREDICTED_GAIN = 0.01
"""A plan that promises less is not worth measuring: neither the prediction nor the measurement is that exact."""

NOTHING_FOUND = "no rewriting is predicted to be faster by more than 1%"
NONE_RUNS = "the runtime runs none of the rewritten models"
NOT_AHEAD = "the best rewriting is not ahead of the original by more than the noise"


@dataclass(frozen=True)
class Job:
    """One optimization: the model, what the user wants, and where it runs."""

    model: Model
    output: Path
    settings: OptimizeSettings
    samples: Sequence[Sample]
    process: RuntimeProcess
    info: RuntimeInfo
    run: RunSettings
    tell: Progress


def optimize_file(
    model: str | Path,
    settings: OptimizeSettings | None = None,
    progress: Progress | None = None,
    process: RuntimeProcess | None = None,
) -> Record:
    """Search for a faster equivalent of a model file, check it, measure it and write it.

    Writes either a model that computes the same and runs faster, or the input as it was; `Record.output` says where.
    Whoever optimizes many models may hand in the runtime's `process`, which stays open and saves starting it anew.
    Raises InvalidInputError for a model that cannot be read, UsageError for settings that do not fit it,
    UnsupportedError when the runtime cannot run here, MismatchError when a rewritten model computes something else;
    nothing is written then.
    """
    chosen, tell = settings or OptimizeSettings(), progress or silent
    path, started = Path(model), time.monotonic()
    output = chosen.output or path.parent / f"{path.stem}.opt.onnx"
    # 1. Refuse early what cannot end well: no runtime, no place for the output, no valid model.
    require_runtime()
    if not chosen.dry_run:
        check_output(output, path, chosen.force)
    tell("reading the model")
    read = read_model(path, load_specs(), chosen.dims)
    samples = read_samples(chosen.inputs, read.inputs)
    with RuntimeProcess() if process is None else nullcontext(process) as runtime:
        info = probe(runtime)
        require_loadable(read, info)
        run = RunSettings(resolve_device(chosen.device, info.providers), chosen.threads, chosen.seed)
        require_running(read, runtime, run)
        job = Job(read, output, chosen, samples, runtime, info, run, tell)
        # 2. Search for cheaper graphs with the proved rules and the measured costs.
        found, cost = search(job)
        plans = _finalists(read, found)
        shown = plans[0] if plans and chosen.dry_run else found.plans[-1]
        draft = _with_evidence(_draft(job, found), evidence(read, cost, shown))
        # 3. Let the best ones prove themselves; write the winner, or the original as it was.
        record = _planned(draft, plans) if chosen.dry_run else _decided(job, draft, plans, cost)
    return replace(record, seconds=time.monotonic() - started)


def _finalists(model: Model, found: SearchResult) -> list[Plan]:
    """The plans that promise enough to be measured whole, as many as the model is light."""
    worthwhile = (1 - LEAST_PREDICTED_GAIN) * found.plans[-1].cost
    most = MOST_FINALISTS if weight_bytes(model) < LIGHT_BYTES else FINALISTS
    return [plan for plan in found if plan.cost < worthwhile][:most]


def search(job: Job) -> tuple[SearchResult, CostModel]:
    """Search the graphs that the rules reach, with costs measured on the job's device; the costs come back too."""
    model, settings = job.model, job.settings
    allowed = usable_rules(settings.rules, settings.fp_class)
    bound = load_specs().builder(model.bindings)

    end = time.monotonic() + settings.budget

    def report(best: Plan, expanded: int) -> None:
        left = max(0.0, end - time.monotonic())
        job.tell(f"searching: {expanded} graphs expanded, best predicted {best.cost * 1e3:.3f} ms, {left:.0f} s left")

    job.tell("measuring what the model's kernels cost, where that is not known yet")
    with CostTable() as table:
        cost = CostModel(
            bound, table, Measurer(job.process, job.run, job.info, weight_bytes(model)), model.opset, model.literal
        )
        rewriter = Rewriter(model.builder, allowed, model.literal)
        limits = SearchLimits(budget=settings.budget)
        finder = BacktrackingSearch(model.builder, rewriter, cost, spellable(model), settings.alpha, limits)
        found = finder.run(model.graph.outputs, report)
    if found.stopped_by == "interrupt":
        job.tell("interrupted: checking the best plan found so far; a second interrupt gives up")
    return found, cost


def _decided(job: Job, draft: Record, plans: list[Plan], cost: CostModel) -> Record:
    if not plans:
        return _unchanged(job, replace(draft, reason=NOTHING_FOUND))
    return _contest(job, draft, plans, cost)


def _contest(job: Job, draft: Record, plans: Sequence[Plan], cost: CostModel) -> Record:
    """Compare and time the plans' models against the original as a whole, and write the winner."""
    job.tell("measuring the best candidates against the original")
    try:
        finals = _finals(job, plans)
    except UnsupportedError as error:
        return _unchanged(job, replace(draft, reason=f"a rewriting cannot be checked: {error}"))
    except UncheckableError as error:
        if job.samples:
            raise
        reason = f"a rewriting cannot be checked on random inputs (--inputs takes your own): {error}"
        return _unchanged(job, replace(draft, reason=reason))
    except MismatchError as error:
        if isinstance(error.evidence, FailedCheck):
            failed = _with_plan(job, draft, plans[error.evidence.number], cost)
            error.evidence = _refuted(job, failed, str(error), error.evidence)
        raise
    measured, finalist = with_measurement(draft, finals, _output_names(job)), finals.finalist
    if finalist is None:
        return _unchanged(job, replace(measured, reason=NONE_RUNS))
    if not finalist.won:
        return _unchanged(job, replace(measured, reason=NOT_AHEAD))
    plan = plans[finalist.number]
    winner = _rewritten(job.model, plan)
    save_atomically(winner, job.output, original=job.model.path, force=job.settings.force)
    return replace(
        _with_plan(job, measured, plan, cost),
        result="improved",
        output=str(job.output),
        operators_after=operator_counts(winner),
        bytes_added=bytes_added(job.model.proto, winner),
    )


def _finals(job: Job, plans: Sequence[Plan]) -> Finals:
    """Hold the finals of the plans' models; unseeded random operators get seeds for it, to be comparable at all."""
    feeds = sample_feeds(job.model.inputs, job.samples, job.settings.seed)
    timing = timing_feeds(job.model.inputs, job.samples, job.settings.seed)
    path, proto = job.model.path, seeded(job.model.proto)
    with TemporaryDirectory(prefix="tasoopt-") as folder:
        original, model = path, job.model
        if proto is not None:
            original, model = Path(folder) / "original.onnx", replace(job.model, proto=proto)
            save_atomically(proto, original, original=path, durable=False)
        candidates = [Path(folder) / f"candidate{number}.onnx" for number in range(len(plans))]
        for plan, place in zip(plans, candidates, strict=True):
            save_atomically(_rewritten(model, plan), place, original=path, durable=False)
        return hold_finals(job.process, original, candidates, feeds, timing, job.run)


def _rewritten(model: Model, plan: Plan) -> ModelProto:
    return write_model(model, Graph(model.graph.inputs, plan.outputs))


def _with_plan(job: Job, record: Record, plan: Plan, cost: CostModel) -> Record:
    rules = applied_rules([step.rule.rule for step in plan.steps], load_specs())
    return _with_evidence(replace(record, rules=rules), evidence(job.model, cost, plan))


def _with_evidence(record: Record, shown: Evidence) -> Record:
    return replace(record, places=shown.places, costs=shown.costs)


def _refuted(job: Job, record: Record, reason: str, found: FailedCheck) -> Record:
    """The record of a run whose candidate computes something else: what a report of that defect needs."""
    return replace(
        record,
        result="mismatch",
        reason=reason,
        max_abs_error=found.agreement.max_abs,
        max_rel_error=found.agreement.max_rel,
        warnings=found.agreement.warnings,
        outputs=output_errors(found.agreement, _output_names(job)),
    )


def _output_names(job: Job) -> list[str]:
    return [value.name for value in job.model.proto.graph.output]


def _unchanged(job: Job, record: Record) -> Record:
    copy_unchanged(job.model.path, job.model.proto, job.output, force=job.settings.force)
    return replace(record, output=str(job.output))


def _planned(draft: Record, plans: list[Plan]) -> Record:
    rules = applied_rules([step.rule.rule for step in plans[0].steps], load_specs()) if plans else ()
    return replace(draft, result="dry-run", rules=rules, reason="" if plans else NOTHING_FOUND)


def _draft(job: Job, found: SearchResult) -> Record:
    """What is known after the search: the record of a run that leaves the model as it is."""
    before = operator_counts(job.model.proto)
    return Record(
        result="unchanged",
        reason="",
        input=str(job.model.path),
        output=None,
        operators_before=before,
        operators_after=before,
        rules=(),
        search=search_summary(found),
        settings=job.settings.described(),
        runtime={"tasoopt": __version__, **versions(), **asdict(job.info)},
    )
