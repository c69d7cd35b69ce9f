"""Medians, spreads and ratios of measured times, with bootstrap intervals.

A *sample* is the mean time of a run over a short burst of repeats. Rounds are interleaved: each round takes one sample
of every model, so a sample of the original and one of a candidate from the same round form a *pair* that saw the same
state of the machine. A *recreation* is a group of rounds measured with freshly created sessions.

The ratio of a candidate is exp(mean over recreations of the median over rounds of log(original / candidate)). Its 95%
interval is a two-level bootstrap: recreations are drawn with replacement, then rounds inside each drawn recreation, so
that what differs between two sessions of the same file (up to a few percent) widens the interval. With R recreations
the bootstrap understates that part by sqrt((R - 1) / R), hence the interval's log-distance from the estimate is
stretched by sqrt(R / (R - 1)).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taso_opt.runtime.results import Ratio, Timing

Samples = NDArray[np.float64]

RESAMPLES = 2000
MAD_TO_DEVIATION = 1.4826  # a normal distribution's standard deviation in units of its median absolute deviation
SHORTEST_S = 1e-9  # a clock may read 0 for a very short sample; a logarithm needs more


def timing_of(samples: Sequence[float] | Samples) -> Timing:
    """Median, spread and lower quartile of samples in seconds; at least one sample."""
    values = np.asarray(samples, np.float64)
    median = float(np.median(values))
    spread = MAD_TO_DEVIATION * float(np.median(np.abs(values - median)))
    return Timing(median, spread, int(values.size), float(np.percentile(values, 25)))


def paired_ratio(recreations: Sequence[tuple[Samples, Samples]], seed: int) -> Ratio:
    """Ratio original / candidate with its 95% interval from paired samples (see the module's docstring).

    `recreations` holds, for each recreation of the sessions, the samples of the original and of the candidate in
    seconds, two arrays of the same positive length.
    """
    logs = [_log_ratios(original, candidate) for original, candidate in recreations]
    estimate = float(np.mean([np.median(group) for group in logs]))
    draws = _bootstrap(logs, np.random.default_rng(seed))
    low, high = (float(value) for value in np.percentile(draws, [2.5, 97.5]))
    stretch = math.sqrt(len(logs) / (len(logs) - 1)) if len(logs) > 1 else 1.0
    low = min(estimate, estimate + stretch * (low - estimate))
    high = max(estimate, estimate + stretch * (high - estimate))
    return Ratio(math.exp(estimate), math.exp(low), math.exp(high))


def _log_ratios(original: Samples, candidate: Samples) -> Samples:
    result: Samples = np.log(np.maximum(original, SHORTEST_S) / np.maximum(candidate, SHORTEST_S))
    return result


def _bootstrap(logs: Sequence[Samples], generator: np.random.Generator) -> Samples:
    """RESAMPLES values of the estimate, rounds and recreations drawn with replacement."""
    medians = np.stack(
        [np.median(group[generator.integers(0, group.size, (RESAMPLES, group.size))], axis=1) for group in logs]
    )
    shape = (RESAMPLES, len(logs))
    drawn = medians[generator.integers(0, len(logs), shape), generator.integers(0, RESAMPLES, shape)]
    result: Samples = drawn.mean(axis=1)
    return result
