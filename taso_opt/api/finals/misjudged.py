"""Which operator misled a search whose best plan was predicted to be faster and, measured whole, is not.

Kernels are timed alone. One that the original has none of may take longer inside of a network, with all that it needs
around it; its plan has kept the search from those that it was worth leaving for. So the search is made once more
without that operator.
"""

from __future__ import annotations

import time
from collections import defaultdict

from taso_opt.api.finals.costs import Costs
from taso_opt.api.job import Job
from taso_opt.core.term import Apply, postorder
from taso_opt.cost import Around
from taso_opt.report.record import Record
from taso_opt.search.plan import Plan

MISLED = "with {} the best rewriting was predicted to be faster, and was not: the search was made again without it"

LEAST_GAIN = 0.05
"""Of what is predicted: less may be the noise of either measurement."""

LEAST_SHARE = 0.25
"""Of what a plan is predicted to take, the kernels of an operator that can have misled the search."""


def misleading_operator(job: Job, record: Record, plan: Plan, costs: Costs) -> str | None:
    """The operator that the original does not have and in which a plan that lost spends most, None where none does.

    None also of plans that promised little, and where there was no more time or an operator was left out before.
    """
    before, after = costs.predicted
    is_late = record.search.stopped_by in ("budget", "interrupt") or time.monotonic() > job.deadline
    if job.without or is_late or not after < (1 - LEAST_GAIN) * before:
        return None
    known = {term.operator for term in postorder(job.model.graph.outputs) if isinstance(term, Apply)}
    seconds: dict[str, float] = defaultdict(float)
    for unit in costs.latency.kernels(plan.outputs, around=Around.of_model(plan.outputs)):
        for operator in {term.operator for term in unit.members if isinstance(term, Apply)} - known:
            seconds[operator] += costs.latency.known(unit) or 0.0
    largest = max(seconds, key=lambda operator: (seconds[operator], operator), default=None)
    return largest if largest is not None and seconds[largest] >= LEAST_SHARE * after else None
