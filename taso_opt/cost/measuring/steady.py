"""Times of models that were disturbed while they were measured are taken once more, and the steadier ones count.

A neighbour that comes and goes within one batch makes some samples much longer, and not the same ones of a model and of
the canary beside it: what is stated for the speed of the canary is then too long or, worse, too short.
"""

from __future__ import annotations

from collections.abc import Sequence

from taso_opt.runtime import (
    Measured,
    MeasureItem,
    MeasurePlan,
    RunSettings,
    RuntimeProcess,
    Timing,
    measure_many,
)

UNSTEADY = 0.25
"""Samples that spread by such a share of their median tell of a disturbance."""


def measure_steadily(
    process: RuntimeProcess, items: Sequence[MeasureItem], run: RunSettings, plan: MeasurePlan, beside: MeasureItem
) -> dict[str, Measured]:
    """What `measure_many` answers, asked once more for models whose samples were far apart."""
    first = measure_many(process, items, run, plan, beside=beside)
    again = [item for item in items if _unsteadiness(first[item.key]) > UNSTEADY]
    second = measure_many(process, again, run, plan, beside=beside) if again else {}
    timed = {key: one for key, one in second.items() if isinstance(one, Timing)}
    return first | {key: one for key, one in timed.items() if _unsteadiness(one) < _unsteadiness(first[key])}


def _unsteadiness(measured: Measured) -> float:
    """The spread of the samples as a share of their median; 0 for what has no samples."""
    return measured.spread_s / measured.median_s if isinstance(measured, Timing) and measured.median_s > 0 else 0.0
