"""Medians, spreads, and ratios with intervals."""

import numpy as np
import pytest

from taso_opt.runtime.estimate import LATER, corrected_ratio, paired_ratio, timing_of


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
    ratio = paired_ratio([(2 * drift, drift), (4 * drift, 2 * drift)], seed=0)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2.0, 2.0, 2.0))


def test_recreations_weigh_alike_on_a_logarithmic_scale():
    one = np.ones(4)
    assert paired_ratio([(one, one), (4 * one, one)], seed=0).value == pytest.approx(2.0)


def test_the_same_seed_gives_the_same_interval():
    generator = np.random.default_rng(1)
    groups = [(generator.uniform(1, 2, 10), generator.uniform(1, 2, 10)) for _ in range(2)]
    assert paired_ratio(groups, seed=5) == paired_ratio(groups, seed=5)
    assert paired_ratio(groups, seed=5).low != paired_ratio(groups, seed=6).low


def test_differences_between_sessions_widen_the_interval():
    noise = np.linspace(0.99, 1.01, 9)
    steady = paired_ratio([(noise, np.ones(9))] * 3, seed=0)
    moving = paired_ratio([(noise * factor, np.ones(9)) for factor in (0.95, 1.0, 1.05)], seed=0)
    assert moving.high - moving.low > 3 * (steady.high - steady.low)
    assert steady.high / steady.low == pytest.approx(np.exp(2 * LATER))
    assert moving.low < 0.96
    assert moving.high > 1.04


def test_a_single_round_has_an_interval_without_width():
    ratio = paired_ratio([(np.array([3.0]), np.array([2.0]))], seed=0)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.5, 1.5, 1.5))


def test_a_clock_that_reads_zero_does_no_harm():
    assert paired_ratio([(np.zeros(3), np.zeros(3))], seed=0).value == 1.0


def test_what_the_originals_session_was_off_cancels_against_the_control():
    rounds = np.ones(5)
    off = [(rounds * factor, rounds / 1.2, rounds) for factor in (0.9, 1.0, 1.1)]
    corrected = corrected_ratio(off, seed=0)
    assert corrected.value == pytest.approx(1.2)
    assert (corrected.low, corrected.high) == pytest.approx((1.2 * np.exp(-LATER), 1.2 * np.exp(LATER)))
    plain = paired_ratio([(original, candidate) for original, candidate, _ in off], seed=0)
    assert plain.low < 1.1


@pytest.mark.parametrize("count", [3, 6])
def test_the_interval_holds_what_a_repetition_finds_about_as_often_as_it_says(count):
    generator = np.random.default_rng(0)

    def contest(seed):
        """The ratio and the speed-up as one measurement finds them."""
        original, candidate, control = (sessions(generator, scale, 0.015, 0.03, count) for scale in (1.1, 1.0, 1.1))
        plain = paired_ratio(list(zip(original, candidate, strict=True)), seed)
        return plain, corrected_ratio(list(zip(original, candidate, control, strict=True)), seed)

    trials = 300
    held = np.zeros(2, int)
    for seed in range(trials):
        pairs = zip(contest(seed), contest(seed), strict=True)
        held += [first.low <= again.value <= first.high for first, again in pairs]
    assert all(held >= 0.93 * trials)
    assert not all(held == trials)


def test_one_disturbed_recreation_of_six_does_not_decide():
    calm = [(np.full(5, 1.5 * factor), np.ones(5)) for factor in (0.99, 0.995, 1.0, 1.005, 1.01)]
    ratio = paired_ratio([*calm, (np.full(5, 1.5), np.full(5, 4.0))], seed=0)
    assert 1.4 < ratio.low < ratio.value < ratio.high < 1.6
