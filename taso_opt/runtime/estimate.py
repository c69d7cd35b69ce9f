"""Medians, spreads and ratios of measured times, with their intervals.

A *sample* is the mean time of a run over a short burst of repeats. Rounds are interleaved: each round takes one sample
of every model, so a sample of the original and one of a candidate from the same round form a *pair* that saw the same
state of the machine. A *recreation* is a group of rounds measured with freshly created sessions.

The ratio of a candidate is exp(mean over recreations of the median over rounds of log(original / candidate)). What
differs between two sessions of the same file, up to a few percent, is larger than what rounds within one leave open, so
intervals are Student's for the mean of the recreations' medians. From five recreations on, the highest and the lowest
are left out of that mean, with the interval for trimmed means (Tukey and McLaughlin, 1963): another program that
disturbs one recreation must not decide.

Few recreations say little of how far they lie apart: two or three may agree by chance, and where Student's quantiles
allow for that, intervals are wider than most need. So their variance is moderated (Smyth, 2004): averaged with the one
to be expected, which counts as some recreations more. It has two parts: what sessions differ by on any machine, and
what rounds do, as these recreations show.

A 95% interval says where the same measurement, made once more, would find the ratio in 19 of 20 cases: it is that of
the mean, wider by the square root of 2, since the other measurement is as far off as this one. So what is ahead would
be found ahead again. The other measurement is made later, when the machine's state is another, which recreations
seconds apart cannot show: a share is added for that, as independent of the rest. docs/benchmarks-intervals.md shows how
often intervals hold.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taso_opt.runtime.results import Ratio, Timing

Samples = NDArray[np.float64]

MAD_TO_DEVIATION = 1.4826  # a normal distribution's standard deviation in units of its median absolute deviation
MEDIAN_TO_MEAN = math.pi / 2  # the variance of a median of normal numbers in units of their mean's
SHORTEST_S = 1e-9  # a clock may read 0 for a very short sample; a logarithm needs more
AGAIN = math.sqrt(2)
"""How much wider an interval is for another measurement than for the mean."""

LATER = 0.01
"""By which share a ratio may differ some time later for no reason that one measurement shows."""

ENOUGH_TO_TRIM = 5
SESSIONS, ROUND, ENOUGH_TO_TELL = 0.01, 0.05, 3
"""The standard deviation of a ratio's logarithm between sessions of the same files, and between rounds where there are
fewer than so many, beside the first ones of all recreations, to tell it."""

EXPECTED = 2
"""As how many degrees of freedom the variance that is expected counts."""

STUDENT = (4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Quantiles at 97.5% of Student's distribution with these degrees of freedom, with one more, and so on."""


def timing_of(samples: Sequence[float] | Samples) -> Timing:
    """Median, spread and lower quartile of samples in seconds; at least one sample."""
    values = np.asarray(samples, np.float64)
    median = float(np.median(values))
    spread = MAD_TO_DEVIATION * float(np.median(np.abs(values - median)))
    return Timing(median, spread, int(values.size), float(np.percentile(values, 25)))


def paired_ratio(recreations: Sequence[tuple[Samples, Samples]]) -> Ratio:
    """Ratio original / candidate with its 95% interval from paired samples (see the module's docstring).

    `recreations` holds, for each recreation of the sessions, the samples of the original and of the candidate in
    seconds, two arrays of the same positive length.
    """
    return _ratio([_log_ratios(original, candidate) for original, candidate in recreations])


def corrected_ratio(recreations: Sequence[tuple[Samples, Samples, Samples]]) -> Ratio:
    """The same divided by the ratio of a control, of which the third array of each recreation has the samples.

    What the original's own session was off cancels out, and what the control's was off is part of the interval.
    """
    groups = [
        _log_ratios(original, candidate) - np.median(_log_ratios(original, control))
        for original, candidate, control in recreations
    ]
    return _ratio(groups)


def _ratio(logs: Sequence[Samples]) -> Ratio:
    medians = np.sort([float(np.median(group)) for group in logs])
    cut = 1 if len(logs) >= ENOUGH_TO_TRIM else 0
    kept = medians[cut : len(medians) - cut]
    estimate, free = float(np.mean(kept)), len(kept) - 1
    variance = float(np.var(np.clip(medians, kept[0], kept[-1]), ddof=1)) if free else 0.0
    moderated = (EXPECTED * _expected_variance(logs) + free * variance) / (EXPECTED + free)
    quantile = STUDENT[min(free, len(STUDENT) - 1)]
    half = math.hypot(AGAIN * quantile * math.sqrt(moderated * len(medians)) / len(kept), LATER)
    return Ratio(math.exp(estimate), math.exp(estimate - half), math.exp(estimate + half))


def _expected_variance(logs: Sequence[Samples]) -> float:
    """That of a recreation's median: by what sessions differ, and by what its rounds do."""
    rounds = sum(map(len, logs))
    free = rounds - len(logs)
    apart = np.concatenate([np.abs(group - np.median(group)) for group in logs])
    told = (MAD_TO_DEVIATION * float(np.median(apart))) ** 2 * rounds / max(free, 1)
    of_a_round = told if free >= ENOUGH_TO_TELL else ROUND**2
    return SESSIONS**2 + MEDIAN_TO_MEAN * of_a_round * len(logs) / rounds


def _log_ratios(original: Samples, candidate: Samples) -> Samples:
    result: Samples = np.log(np.maximum(original, SHORTEST_S) / np.maximum(candidate, SHORTEST_S))
    return result
