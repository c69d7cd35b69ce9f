"""Spells nodes as the operators that rules know, where that is measured to be faster than what the file says."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from taso_opt.api.finals.costs import LEAST_PREDICTED_GAIN
from taso_opt.api.job import Job
from taso_opt.api.preparing.standing_in import standing_in
from taso_opt.cost import CostModel, CostTable, Measurer, spelling_keys
from taso_opt.errors import TasoError
from taso_opt.onnx_io import lengthened, own_spellings, respelled
from taso_opt.spec import load_specs

log = logging.getLogger(__name__)

PASS = "nodes spelled as what they are read as, which is faster here: {}"

ROWS = "rows of constants without axes of one element in front: {}"

LEAST_RATIO = 1.05
"""By how much a node must be slower than what it is read as: less may be noise."""


def with_respelled_nodes(job: Job) -> Job:
    """The job with a model to search in which no node is slower than what the rules take it for.

    Operators like Einsum are read as others (see `own_spelling`): costs and rules are about these, and a node that no
    rewriting touches would stay as it is. So would rows of constants with more axes than they need, by which a runtime
    may fail to know a normalization. What is read is what the node means, but no more is proved of it; so the model
    must give the original's outputs. The job comes back as it is where nothing gains, or anything fails.
    """
    if job.obstacle or not job.goal.is_plain_latency:
        return job
    try:
        slower, saved_s = _slower_nodes(job)
        rows = lengthened(job.model)
        model = standing_in(job, respelled(job.model, {*slower, *rows})) if slower or rows else None
    except TasoError as error:
        log.info("nodes stay as the file spells them: %s", error)
        return job
    if model is None:
        return job
    passes = (text.format(_counted(job, nodes)) for text, nodes in ((PASS, slower), (ROWS, rows)) if nodes)
    return replace(job, model=model, passes=(*job.passes, *passes), saved_s=job.saved_s + saved_s)


def _slower_nodes(job: Job) -> tuple[list[int], float]:
    """The nodes that are slower as they are, and by how many seconds; none where that is not worth a change."""
    builder = load_specs().builder(job.model.bindings)
    nodes = own_spellings(job.model, load_specs(), builder)
    if not nodes:
        return [], 0.0
    with CostTable() as table:
        measurer = Measurer.of_model(job.process, job.run, job.info, job.model, builder)
        seconds = table.load(measurer.place)
        distinct = {kind.key: kind for kind in nodes.values() if not seconds.keys() >= {*spelling_keys(kind)}}
        if distinct:
            job.tell(f"measuring how the file spells what rules spell otherwise: {len(distinct)} kinds of nodes")
            entries = measurer.measure_spellings(list(distinct.values()), builder)
            table.store(entries)
            seconds = {**seconds, **{entry.unit: entry.seconds for entry in entries}}
        gains = {at: _gain_s(*(seconds[key] for key in spelling_keys(kind))) for at, kind in nodes.items()}
        slower, saved_s = [at for at, gain_s in gains.items() if gain_s > 0], sum(gains.values())
        if not slower:
            return [], 0.0
        latency = CostModel.of_model(job.model, builder, table, measurer)
        latency.settle(job.model.graph.outputs)
        is_worth_it = saved_s > LEAST_PREDICTED_GAIN * latency.cost(job.model.graph.outputs)
    return (slower, saved_s) if is_worth_it else ([], 0.0)


def _gain_s(theirs_s: float, ours_s: float) -> float:
    """What another spelling saves, 0 where that may be noise or the file's could not be timed."""
    return theirs_s - ours_s if LEAST_RATIO * ours_s < theirs_s < math.inf else 0.0


def _counted(job: Job, nodes: Sequence[int]) -> str:
    counted = Counter(job.model.proto.graph.node[at].op_type for at in nodes)
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))
