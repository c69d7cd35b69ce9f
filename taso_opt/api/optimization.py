"""Optimizes a model file: read, search, compare, measure, write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from taso_opt import __version__
from taso_opt.api.finals.contest import Contest, checked_outputs, hold_contest, rewritten
from taso_opt.api.finals.costs import Costs, finalists
from taso_opt.api.finals.misjudged import MISLED, misleading_operator
from taso_opt.api.job import Job
from taso_opt.api.preparing.inner import with_rewritten_bodies
from taso_opt.api.preparing.replaced_calls import with_replaced_calls
from taso_opt.api.preparing.respelling import with_respelled_nodes
from taso_opt.api.preparing.tidying import with_tidied_model
from taso_opt.api.reporting.evidence import Evidence, evidence
from taso_opt.api.reporting.free_threads import with_free_threads
from taso_opt.api.reporting.summary import applied_rules, output_errors, search_summary, with_measurement
from taso_opt.api.searching import search
from taso_opt.api.session import (
    BY_PARTS,
    Progress,
    obstacle,
    require_loadable,
    running,
    silent,
    versions,
)
from taso_opt.api.settings import OptimizeSettings, goal_of, usual_budget
from taso_opt.api.sizes import as_it_runs, assumption, read_with_samples
from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.core.rule import Rule
from taso_opt.core.term import is_constant, postorder
from taso_opt.errors import MismatchError, UncheckableError, UnsupportedError
from taso_opt.onnx_io import (
    Model,
    ModelProto,
    bytes_added,
    check_data,
    check_output,
    complete,
    copy_unchanged,
    has_control_flow,
    load_model,
    operator_counts,
    save_atomically,
    save_copy,
)
from taso_opt.report.record import Record
from taso_opt.runtime import RuntimeProcess, require_runtime
from taso_opt.search.judging.finals import FailedCheck
from taso_opt.search.judging.kinds import remark, telling_kind
from taso_opt.search.judging.samples import Sample
from taso_opt.search.neighbourhood import live_operators
from taso_opt.search.plan import Plan, SearchResult
from taso_opt.spec import load_specs

FINALS_S = 15.0
"""What the finals may count on beside the search's budget; what the search leaves of that is theirs too."""

NONE_RUNS = "none of the rewritten models runs and gives the same outputs"
ONLY_PASSES = "no rewriting by rules is predicted to be faster, and what a clean-up gains is measured, not predicted"
ONLY_SPELLING = "no rewriting by rules is predicted to be faster than spelling nodes as what they are read as"
AGAIN = "another --seed, or tasoopt cost clear, measures anew"
SEARCH_AGAIN = "after tasoopt cost clear, it searches anew"


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
    path, started, goal = Path(model), time.monotonic(), goal_of(chosen)
    output = chosen.output or path.parent / f"{path.stem}.opt.onnx"
    # 1. Refuse early what cannot end well: no runtime, no place for the output, no valid model.
    require_runtime(chosen.runtime)
    tell("reading the model")
    with RuntimeProcess() if process is None else nullcontext(process) as runtime:
        read, samples = _read(path, output, chosen)
        budget = _budget(read, chosen)
        chosen = replace(chosen, budget=budget)
        info, run = running(runtime, chosen)
        require_loadable(read, info)
        read = as_it_runs(read, chosen.bindings[0], samples, runtime, run)
        deadline, hindrance = started + budget + FINALS_S, obstacle(read, runtime, run)
        job = Job(read, read, output, chosen, goal, samples, runtime, info, run, tell, budget, deadline, hindrance)
        if not hindrance:
            kind = telling_kind(runtime, read, samples, run)
            job = replace(job, kind=kind, remarks=remark(kind))
        job = with_respelled_nodes(with_replaced_calls(with_tidied_model(job)))
        record = _optimized(with_rewritten_bodies(job, _faster))
    return replace(record, seconds=time.monotonic() - started)


def _budget(model: Model, chosen: OptimizeSettings) -> float:
    """Seconds for the search: as the user says, else by the operators that are left when the runtime has folded all."""
    computed = live_operators(postorder(model.graph.outputs), is_constant)
    return usual_budget(computed) if chosen.budget is None else chosen.budget


def _optimized(job: Job) -> Record:
    """The second half of the story, from a model that is known to run to what becomes of it."""
    # 2. Search for cheaper graphs with the proved rules and the measured costs.
    found, costs = search(job)
    plans = finalists(job, found, costs)
    shown = plans[0] if plans and job.settings.dry_run else found.plans[-1]
    draft = _with_evidence(_draft(job, found, costs, shown), evidence(job.model, costs.latency, shown))
    # 3. Let the best ones prove themselves; write the winner, or the original as it was.
    return _planned(job, draft, plans, costs) if job.settings.dry_run else _decided(job, draft, plans, costs)


def _read(path: Path, output: Path, chosen: OptimizeSettings) -> tuple[Model, tuple[Sample, ...]]:
    """The model and the user's samples, once it is clear that the output can be written."""
    if not chosen.dry_run:
        check_output(output, path, chosen.force)
    read, samples = read_with_samples(path, chosen.bindings[0], chosen.inputs)
    if not chosen.dry_run:
        check_data(output, read.proto, path, chosen.force)
    return read, samples


def _faster(job: Job) -> tuple[ModelProto, tuple[Rule, ...]] | None:
    """A faster model than that of a job and the rules that made it; None where none is found or, measured, ahead.

    It has its weights in it, since the files of parts of a model do not last. A dry run believes what is predicted.
    """
    found, costs = search(job)
    plans = finalists(job, found, costs)
    if not plans or (job.settings.dry_run and not plans[0].steps):
        return None
    if job.settings.dry_run:
        return complete(rewritten(job.model, plans[0]), job.source.path), tuple(_rules(job, plans[0]))
    with scratch_folder() as folder:
        contest = _held(job, plans, costs, folder)
        finalist = None if contest.finals is None else contest.finals.finalist
        if finalist is None or not finalist.won:
            return None
        plan, written = plans[finalist.number], contest.winner
        if written is None:
            return complete(rewritten(job.model, plan), job.source.path), tuple(_rules(job, plan))
        return load_model(written, whole=True), tuple(_rules(job, plan))


def _held(job: Job, plans: Sequence[Plan], costs: Costs, folder: Path) -> Contest:
    """The contest of plans whose models are written to a folder."""
    folded_bytes = max(map(costs.folded_bytes, plans))
    return hold_contest(job, plans, costs.standard(plans), costs.latency.place, folded_bytes, folder)


def _decided(job: Job, draft: Record, plans: list[Plan], costs: Costs) -> Record:
    if not plans:
        return _unchanged(job, replace(draft, reason=_nothing_found(draft, costs)))
    return _contest(job, draft, plans, costs)


def _nothing_found(draft: Record, costs: Costs) -> str:
    """Why there is nothing to measure, in a sentence, and since when that is known."""
    before = draft.search.recalled_from
    return f"{costs.nothing_found}, as a search found at {before} ({SEARCH_AGAIN})" if before else costs.nothing_found


def _contest(job: Job, draft: Record, plans: Sequence[Plan], costs: Costs) -> Record:
    """Compare and time the plans' models against the original as a whole, and write the winner."""
    try:
        with scratch_folder() as folder:
            contest = _held(job, plans, costs, folder)
            finalist = None if contest.finals is None else contest.finals.finalist
            if finalist is not None and finalist.won:
                measured = with_measurement(draft, contest, checked_outputs(job))
                return _improved(job, measured, plans[finalist.number], contest, costs)
    except UnsupportedError as error:
        return _unchanged(job, replace(draft, reason=f"a rewriting cannot be checked: {error}"))
    except UncheckableError as error:
        if job.samples:
            raise
        if not job.obstacle and not job.has_another_base and has_control_flow(job.source.proto):
            alone = replace(job, obstacle=str(error))
            return _contest(alone, replace(draft, warnings=_by_parts(alone)), plans, costs)
        reason = f"a rewriting cannot be checked on random inputs (--inputs takes your own): {error}"
        return _unchanged(job, replace(draft, reason=reason))
    except MismatchError as error:
        if isinstance(error.evidence, FailedCheck):
            failed = _with_plan(job, draft, plans[error.evidence.number], costs)
            candidate = rewritten(job.model, plans[error.evidence.number])
            error.evidence = _refuted(job, _with_model(job, failed, candidate), str(error), error.evidence)
        raise
    return _not_won(job, draft, plans, contest, costs)


def _not_won(job: Job, draft: Record, plans: Sequence[Plan], contest: Contest, costs: Costs) -> Record:
    """What becomes of a run after finals that no plan's model has won, or that were lost when they were held before."""
    if contest.finals is None:
        assert contest.recalled is not None, "finals that were not held are recalled"
        reason = f"{costs.not_ahead}, as measured at {contest.recalled.decided_at} ({AGAIN})"
        return _lost(job, replace(draft, reason=reason), plans[0], costs)
    measured = with_measurement(draft, contest, checked_outputs(job))
    if contest.finals.finalist is None:
        return _unchanged(job, replace(measured, reason=NONE_RUNS))
    return _lost(job, replace(measured, reason=costs.not_ahead), plans[0], costs)


def _lost(job: Job, record: Record, plan: Plan, costs: Costs) -> Record:
    """What becomes of a run whose plans, the best of which is given, are no faster than the original."""
    operator = misleading_operator(job, record, plan, costs)
    if operator is None:
        return _unchanged(job, record)
    remark = MISLED.format(operator)
    job.tell(remark)
    return _optimized(
        replace(job, without=frozenset({operator}), budget=job.budget / 2, remarks=(*job.remarks, remark))
    )


def _improved(job: Job, measured: Record, plan: Plan, contest: Contest, costs: Costs) -> Record:
    """Write the winner, a plan's model, and say so."""
    source, force, written = job.source, job.settings.force, contest.winner
    if written is None:
        winner = rewritten(job.model, plan)
        save_atomically(winner, job.output, original=source.path, source=source.proto, force=force)
    else:
        winner = load_model(written)
        save_copy(written, job.output, original=source.path, source=source.proto, force=force)
    made = _with_model(job, _with_plan(job, measured, plan, costs), winner)
    improved = replace(made, result="improved", output=str(job.output))
    return with_free_threads(job, improved, contest)


def _rules(job: Job, plan: Plan) -> list[Rule]:
    """The rules that made a plan's model, as often as they were applied."""
    return [*job.inner_rules, *(step.rule.rule for step in plan.steps)]


def _with_plan(job: Job, record: Record, plan: Plan, costs: Costs) -> Record:
    rules = applied_rules(_rules(job, plan), load_specs())
    changed = replace(record, rules=rules, objective=costs.parts(plan), passes=job.passes)
    return _with_evidence(changed, evidence(job.model, costs.latency, plan))


def _with_model(job: Job, record: Record, made: ModelProto) -> Record:
    """The record with what tells a plan's model from the original."""
    after, more = operator_counts(made), bytes_added(job.source.proto, made)
    return replace(record, operators_after=after, bytes_added=more)


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
        warnings=(*record.warnings, *found.agreement.warnings),
        outputs=output_errors(found.agreement, checked_outputs(job)),
    )


def _by_parts(job: Job) -> tuple[str, ...]:
    return (f"{BY_PARTS}: {job.obstacle}",) if job.obstacle else ()


def _unchanged(job: Job, record: Record) -> Record:
    copy_unchanged(job.source.path, job.source.proto, job.output, force=job.settings.force)
    return replace(record, output=str(job.output))


def _planned(job: Job, draft: Record, plans: list[Plan], costs: Costs) -> Record:
    if not plans:
        return replace(draft, result="dry-run", reason=_nothing_found(draft, costs))
    rules = applied_rules(_rules(job, plans[0]), load_specs())
    reason = "" if rules else ONLY_SPELLING if job.saved_s else ONLY_PASSES
    planned = replace(draft, result="dry-run", reason=reason, rules=rules, passes=job.passes)
    return _with_model(job, planned, rewritten(job.model, plans[0]))


def _draft(job: Job, found: SearchResult, costs: Costs, shown: Plan) -> Record:
    """What is known after the search: the record of a run that leaves the model as it is."""
    before = operator_counts(job.source.proto)
    return Record(
        result="unchanged",
        reason="",
        input=str(job.source.path),
        output=None,
        operators_before=before,
        operators_after=before,
        rules=(),
        search=search_summary(found, costs),
        objective=costs.parts(shown),
        settings=job.settings.described(),
        runtime={"tasoopt": __version__, **versions(), **asdict(job.info)},
        warnings=(*_by_parts(job), *assumption(job.source, job.settings.dims, job.samples), *job.remarks),
    )
