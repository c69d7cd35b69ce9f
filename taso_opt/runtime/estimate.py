"""Medians, spreads and ratios of measured times, with their intervals.

A *sample* is the mean time of a run over a short burst of repeats. Rounds are interleaved: each round takes one sample
of every model, so a sample of the original and one of a candidate from the same round form a *pair* that saw the same
state of the machine. A *recreation* is a group of rounds measured with freshly created sessions.

The ratio of a candidate is exp(mean over recreations of the median over rounds of log(original / candidate)). What
differs between two sessions of the same file, up to a few percent, is larger than what rounds within one leave open, so
intervals are Student's for the mean of the recreations' medians. From five recreations on, the highest and the lowest
are left out of that mean, with the interval for trimmed means (Tukey and McLaughlin, 1963): another program that
disturbs one recreation must not decide. With fewer than three recreations it is a bootstrap over both.

A 95% interval says where the same measurement, made once more, would find the ratio in 19 of 20 cases: it is that of
the mean, wider by the square root of 2, since the other measurement is as far off as this one. So what is ahead would
be found ahead again. The other measurement is made later, when the machine's state is another, which recreations
seconds apart cannot show: a share is added for that, as independent of the rest. Of 70 measurements of five models, 90%
lay in the interval of another without it, some intervals of six recreations being narrow by chance, and 95% with it.
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
AGAIN, TRIMMED = math.sqrt(2), 1.2
"""How much wider an interval is for another measurement than for the mean; and for a trimmed mean of as few as six, of
which the textbook's interval held 91% of repetitions in simulations, and this one 95%."""

LATER = 0.01
"""By which share a ratio may differ some time later for no reason that one measurement shows."""

FEWEST_GROUPS, ENOUGH_TO_TRIM = 3, 5
STUDENT = (4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Quantiles at 97.5% of Student's distribution with 2, 3, ... degrees of freedom."""


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
    return _ratio([_log_ratios(original, candidate) for original, candidate in recreations], seed)


def corrected_ratio(recreations: Sequence[tuple[Samples, Samples, Samples]], seed: int) -> Ratio:
    """The same divided by the ratio of a control, of which the third array of each recreation has the samples.

    What the original's own session was off cancels out, and what the control's was off is part of the interval.
    """
    groups = [
        _log_ratios(original, candidate) - np.median(_log_ratios(original, control))
        for original, candidate, control in recreations
    ]
    return _ratio(groups, seed)


def _ratio(logs: Sequence[Samples], seed: int) -> Ratio:
    medians = np.sort([float(np.median(group)) for group in logs])
    cut = 1 if len(logs) >= ENOUGH_TO_TRIM else 0
    kept = medians[cut : len(medians) - cut]
    estimate = float(np.mean(kept))
    if len(logs) < FEWEST_GROUPS:
        low, high = _resampled(logs, estimate, seed)
    else:
        quantile = STUDENT[min(len(kept) - FEWEST_GROUPS, len(STUDENT) - 1)]
        deviation = float(np.std(np.clip(medians, kept[0], kept[-1]), ddof=1))
        half = AGAIN * (TRIMMED if cut else 1.0) * quantile * deviation * math.sqrt(len(medians)) / len(kept)
        low, high = estimate - math.hypot(half, LATER), estimate + math.hypot(half, LATER)
    return Ratio(math.exp(estimate), math.exp(low), math.exp(high))


def _resampled(logs: Sequence[Samples], estimate: float, seed: int) -> tuple[float, float]:
    draws = _bootstrap(logs, np.random.default_rng(seed))
    low, high = (float(value) for value in np.percentile(draws, [2.5, 97.5]))
    stretch = AGAIN * (math.sqrt(len(logs) / (len(logs) - 1)) if len(logs) > 1 else 1.0)
    low = min(estimate, estimate + stretch * (low - estimate))
    high = max(estimate, estimate + stretch * (high - estimate))
    return low, high


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
