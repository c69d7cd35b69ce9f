"""Medians, spreads, and ratios with intervals."""

import numpy as np
import pytest

from taso_opt.runtime.estimate import EXPECTED, LATER, SESSIONS, STUDENT, corrected_ratio, paired_ratio, timing_of


def sessions(
    generator: np.random.Generator, scale: float, between: float, within: float, count: int = 6
) -> list[np.ndarray]:
    return [scale * np.exp(generator.normal(0, between)) * np.exp(generator.normal(0, within, 5)) for _ in range(count)]


def test_a_timing_is_the_median_and_the_scaled_median_deviation():
    timing = timing_of([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (timing.median_s, timing.samples) == (3.0, 5)
    assert timing.spread_s == pytest.approx(1.4826)
    assert timing.quiet_s == 2.0
    assert timing.median_ms == 3000.0
    assert timing.spread_ms == pytest.approx(1482.6)


def test_a_constant_factor_is_found_exactly_whatever_the_machine_does():
    drift = np.array([1.0, 5.0, 2.0, 9.0, 3.0])
    ratio = paired_ratio([(2 * drift, drift), (4 * drift, 2 * drift)])
    assert ratio.value == pytest.approx(2.0)
    expected = np.sqrt(2) * STUDENT[1] * SESSIONS * np.sqrt(EXPECTED / (EXPECTED + 1) / 2)
    assert np.log([ratio.low / 2, ratio.high / 2]) == pytest.approx(
        [-np.hypot(expected, LATER), np.hypot(expected, LATER)]
    )


def test_recreations_weigh_alike_on_a_logarithmic_scale():
    one = np.ones(4)
    assert paired_ratio([(one, one), (4 * one, one)]).value == pytest.approx(2.0)


def test_differences_between_sessions_widen_the_interval():
    noise = np.linspace(0.99, 1.01, 9)
    steady = paired_ratio([(noise, np.ones(9))] * 3)
    moving = paired_ratio([(noise * factor, np.ones(9)) for factor in (0.95, 1.0, 1.05)])
    assert moving.high - moving.low > 1.5 * (steady.high - steady.low)
    assert moving.low < 0.95
    assert moving.high > 1.05


def test_what_rounds_differ_by_widens_the_interval_even_where_recreations_agree():
    quiet, noisy = (paired_ratio([(1 + spread * np.linspace(-1, 1, 5), np.ones(5))] * 3) for spread in (0.01, 0.2))
    assert noisy.high - noisy.low > 2 * (quiet.high - quiet.low)


def test_a_single_round_says_little():
    ratio = paired_ratio([(np.array([3.0]), np.array([2.0]))])
    assert ratio.value == pytest.approx(1.5)
    assert ratio.low < 1.25 < 1.75 < ratio.high


def test_a_clock_that_reads_zero_does_no_harm():
    assert paired_ratio([(np.zeros(3), np.zeros(3))]).value == 1.0


def test_what_the_originals_session_was_off_cancels_against_the_control():
    rounds = np.ones(5)
    off = [(rounds * factor, rounds / 1.2, rounds) for factor in (0.9, 1.0, 1.1)]
    corrected = corrected_ratio(off)
    assert corrected.value == pytest.approx(1.2)
    plain = paired_ratio([(original, candidate) for original, candidate, _ in off])
    assert plain.low < 1.1 < corrected.low


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize(("between", "within", "least"), [(0.005, 0.03, 0.95), (0.015, 0.03, 0.93), (0.03, 0.1, 0.88)])
def test_the_interval_holds_what_a_repetition_finds_about_as_often_as_it_says(count, between, within, least):
    generator = np.random.default_rng(0)

    def contest():
        """The ratio and the speed-up as one measurement finds them."""
        original, candidate, control = (sessions(generator, scale, between, within, count) for scale in (1.1, 1.0, 1.1))
        plain = paired_ratio(list(zip(original, candidate, strict=True)))
        return plain, corrected_ratio(list(zip(original, candidate, control, strict=True)))

    trials = 300
    held = np.zeros(2, int)
    for _ in range(trials):
        pairs = zip(contest(), contest(), strict=True)
        held += [first.low <= again.value <= first.high for first, again in pairs]
    assert all(held >= least * trials)


def test_intervals_are_no_wider_than_that_takes_by_far():
    generator = np.random.default_rng(0)
    ratios = [
        paired_ratio([*zip(*(sessions(generator, 1, 0.015, 0.03) for _ in "ab"), strict=True)]) for _ in range(300)
    ]
    deviation = np.std(np.log([ratio.value for ratio in ratios]))
    half = np.median(np.log([ratio.high / ratio.low for ratio in ratios])) / 2
    assert 2 < half / (np.sqrt(2) * deviation) < 3


def test_one_disturbed_recreation_of_six_does_not_decide():
    calm = [(np.full(5, 1.5 * factor), np.ones(5)) for factor in (0.99, 0.995, 1.0, 1.005, 1.01)]
    ratio = paired_ratio([*calm, (np.full(5, 1.5), np.full(5, 4.0))])
    assert 1.4 < ratio.low < ratio.value < ratio.high < 1.6
