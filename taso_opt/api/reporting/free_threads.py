"""Measures a result once more as many programs run it: with as many threads as the runtime chooses."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace

from taso_opt.api.finals.contest import Contest
from taso_opt.api.job import Job
from taso_opt.api.reporting.summary import measured_speedup
from taso_opt.api.sizes import given_bytes
from taso_opt.core.machine.processors import cores
from taso_opt.cost import CostTable
from taso_opt.errors import RuntimeFailure, TasoError
from taso_opt.report.record import MeasuredSpeedup, Record
from taso_opt.runtime import CompareLatency, Contestant, compare_latency
from taso_opt.search.judging.feeds import timing_feeds

ROUNDS, RECREATIONS, LIMIT_S = 18, 3, 3.0
SPARE_S = 10.0
"""How many seconds must be left before the job's deadline: sessions of large models take several to create."""

CLEARLY = 0.97
"""What a speed-up must lie wholly below to be called slower: so few rounds cannot tell less."""

SLOWER = "with as many threads as the runtime chooses the result is slower than the original"


def with_free_threads(job: Job, record: Record, contest: Contest) -> Record:
    """The record of an improved model with its speed-up at the runtime's own number of threads, where there is time.

    Only what was measured at one thread on the CPU is, on machines that have more. A warning says where it is slower.
    Where the contest followed the decision of an earlier one, what was measured then is said, with its time. The model
    is written by now: an interrupt ends this alone.
    """
    try:
        found = _remembered(job, contest)
    except (KeyboardInterrupt, TasoError):
        return record
    if found is None:
        return record
    told: tuple[str, ...] = ()
    if found.high < CLEARLY:
        interval = f"{found.ratio:.2f}x ({found.low:.2f} to {found.high:.2f})"
        told = (f"{SLOWER}, {interval}: --threads 0 optimizes for them",)
    return replace(record, speedup_free_threads=found, warnings=(*record.warnings, *told))


def _remembered(job: Job, contest: Contest) -> MeasuredSpeedup | None:
    with CostTable() as table:
        before = None if contest.recalled is None else table.timed_beside(contest.place, contest.question)
        if before is not None:
            return replace(MeasuredSpeedup(**json.loads(before.timing)), measured_at=before.made_at)
        found = _measured(job)
        if found is not None:
            table.time_beside(contest.place, contest.question, json.dumps(asdict(found)))
    return found


def _measured(job: Job) -> MeasuredSpeedup | None:
    if job.obstacle or job.run.on_gpu or job.run.threads != 1 or cores() == 1:
        return None
    if time.monotonic() + SPARE_S > job.deadline:
        return None
    job.tell("timing it with as many threads as the runtime chooses")
    feeds = timing_feeds(job.source.inputs, job.samples, job.settings.seed, given_bytes(job.source))
    run = replace(job.run, threads=0)
    request = CompareLatency(job.source.path, (job.output,), feeds, run, ROUNDS, RECREATIONS, LIMIT_S)
    try:
        latency = compare_latency(job.process, request)
    except RuntimeFailure:
        return None
    (contestant,) = latency.candidates
    return measured_speedup(latency, contestant) if isinstance(contestant, Contestant) else None
