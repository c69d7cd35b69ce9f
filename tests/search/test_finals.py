"""A gain that noise may explain is measured once more; a candidate that only the heat favoured is not the last."""

import time
from math import inf

import pytest

from taso_opt.runtime import Contestant, Latency, LatencyComparison, Ratio, RunSettings, Timing
from taso_opt.search import finals
from taso_opt.search.agreement import Agreement
from taso_opt.search.finals import FASTEST, Trial, hold_finals

TIME = Latency(Timing(0.1, 0.0, 30, 0.1), Timing(0.1, 0.0, 30, 0.1))
CERTAIN, WIDE, SMALL, BEHIND = (1.10, 1.07, 1.13), (1.10, 0.98, 1.25), (1.005, 0.97, 1.05), (0.9, 0.8, 1.0)


def compared(value, low, high):
    control = Contestant(TIME, *[Ratio(1.0, 0.99, 1.01)] * 4)
    return LatencyComparison("cpu", TIME, control, (Contestant(TIME, *[Ratio(value, low, high)] * 4),), 30, 6)


@pytest.fixture
def held(monkeypatch):
    """Holds finals of one candidate whose measurements are given, and tells its place and the limits of each."""
    monkeypatch.setattr(finals, "agreement", lambda *_: Agreement((), ()))

    def hold(*measurements, champion=None, heat=(0,), left_s=inf):
        requests, answers = [], iter(measurements)

        def compare(process, request, grace_s):
            requests.append((request.rounds, request.time_limit_s))
            return compared(*next(answers))

        monkeypatch.setattr(finals, "compare_latency", compare)
        monkeypatch.setattr(finals, "_heat", lambda *_: (list(heat), []))
        candidates = [f"candidate {number}" for number in range(len(heat))]
        trial = Trial([{}], ({},), RunSettings(), deadline=time.monotonic() + left_s)
        found = hold_finals(None, "model", candidates, trial, FASTEST, champion)
        return found.finalist, requests

    return hold


def test_a_gain_beyond_the_noise_is_measured_once(held):
    finalist, requests = held(CERTAIN)
    assert finalist.won
    assert len(requests) == 1


@pytest.mark.parametrize(("second", "wins"), [(CERTAIN, True), (WIDE, False), (BEHIND, False)])
def test_a_gain_within_the_noise_is_decided_by_a_longer_measurement(held, second, wins):
    finalist, requests = held(WIDE, second)
    assert finalist.won is wins
    assert finalist.contestant.cpu_speedup.value == second[0]
    (rounds, limit_s), (more_rounds, longer_s) = requests
    assert more_rounds > rounds
    assert longer_s > limit_s


def test_the_longer_measurement_is_shorter_where_time_is_nearly_up_and_never_shorter_than_the_first(held):
    _, ((_, first_s), (_, unhurried_s)) = held(WIDE, CERTAIN)
    between = (first_s + unhurried_s) / 2
    _, (_, (_, hurried_s)) = held(WIDE, CERTAIN, left_s=between)
    _, (_, (_, late_s)) = held(WIDE, CERTAIN, left_s=-1.0)
    assert first_s == late_s < hurried_s <= between < unhurried_s


@pytest.mark.parametrize("first", [SMALL, BEHIND])
def test_what_would_not_be_worth_having_is_not_measured_again(held, first):
    finalist, requests = held(first)
    assert not finalist.won
    assert len(requests) == 1


def test_a_champion_that_is_not_behind_stays_without_a_second_measurement(held):
    finalist, requests = held(WIDE, champion=0)
    assert finalist.won
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("heat", "measured", "number", "wins"),
    [
        ((2, 1, 0), [CERTAIN], 2, True),
        ((2, 1, 0), [SMALL, CERTAIN], 0, True),
        ((2, 1, 0), [SMALL, BEHIND], 2, False),
        ((0, 1, 2), [SMALL], 0, False),
    ],
)
def test_where_the_fastest_of_the_heat_loses_the_best_by_prediction_gets_its_chance(held, heat, measured, number, wins):
    finalist, requests = held(*measured, heat=heat)
    assert (finalist.number, finalist.won) == (number, wins)
    assert len(requests) == len(measured)


def test_where_time_is_up_the_best_by_prediction_gets_no_chance(held):
    finalist, requests = held(SMALL, CERTAIN, heat=(2, 1, 0), left_s=-1.0)
    assert (finalist.number, finalist.won, len(requests)) == (2, False, 1)
