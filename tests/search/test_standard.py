"""Who wins the finals, by the measured latency and by what else the objective counts."""

import pytest

from taso_opt.runtime import Contestant, Latency, LatencyComparison, Ratio, Timing
from taso_opt.search.judging.finals import FASTEST, Standard

TIME = Latency(Timing(1e-3, 0.0, 30, 1e-3), Timing(1e-3, 0.0, 30, 1e-3))


def measured(value, low, high, noise=0.01):
    """One candidate's comparison, with a control of ratio 1 whose interval is as wide as the noise."""
    found = Contestant(TIME, *[Ratio(value, low, high)] * 4)
    control = Contestant(TIME, *[Ratio(1.0, 1 - noise, 1 + noise)] * 4)
    return LatencyComparison("cpu", TIME, control, (found,), 30, 3), found


@pytest.mark.parametrize(
    ("case", "wins"),
    [
        ((1.10, 1.05, 1.15), True),
        ((1.10, 0.99, 1.20), False),
        ((1.005, 1.001, 1.01), False),
        ((0.90, 0.85, 0.95), False),
    ],
)
def test_the_fastest_wins_when_it_is_ahead_by_more_than_the_noise(case, wins):
    comparison, found = measured(*case)
    assert FASTEST.is_met(0, comparison, found) is wins
    assert comparison.is_ahead(found) is wins


def test_what_is_better_by_another_objective_wins_unless_it_is_slower():
    flops = Standard(latency=0.0, rest=(0.8, 1.0), original=1.0)
    level, slower = measured(1.0, 0.98, 1.02), measured(0.9, 0.85, 0.95)
    assert flops.is_met(0, *level)
    assert not flops.is_met(1, *level), "it saves nothing"
    assert not flops.is_met(0, *slower)
    assert Standard(0.0, (0.8, 1.0), 1.0, allow_slower=True).is_met(0, *slower)


def test_a_mix_weighs_the_speed_that_is_certain():
    mix = Standard(latency=1.0, rest=(0.04, 0.2), original=0.1)
    level = measured(1.0, 0.98, 1.02)
    assert mix.is_met(0, *level), "2% slower at worst, 6% saved"
    assert not mix.is_met(1, *level), "10% lost"
    assert mix.is_met(1, *measured(1.3, 1.25, 1.35)), "20% faster at least"
    assert mix.score(0, 1.0) < mix.score(1, 1.0) < mix.score(0, 0.8)


def test_a_champion_stays_unless_it_is_behind():
    assert FASTEST.keeps(*measured(0.99, 0.97, 1.01))
    assert not FASTEST.keeps(*measured(0.95, 0.93, 0.97))
    assert FASTEST.keeps(*measured(0.95, 0.93, 0.97, noise=0.2)), "the original is as far behind itself"


def test_what_would_lose_at_the_measured_speed_too_is_not_open():
    mix = Standard(latency=1.0, rest=(0.2,), original=0.1)
    assert FASTEST.is_open(0, *measured(1.10, 0.99, 1.20))
    assert not FASTEST.is_open(0, *measured(1.01, 0.99, 1.03))
    assert mix.is_open(0, *measured(1.20, 0.99, 1.40))
    assert not mix.is_open(0, *measured(1.10, 0.99, 1.20)), "9% faster, but 10% lost otherwise"
