"""A gain that noise may explain is measured once more; a candidate that only the heat favoured is not the last."""

import time
from math import inf

import pytest

from taso_opt.errors import RuntimeFailure
from taso_opt.runtime import Contestant, Latency, LatencyComparison, Ratio, RunSettings, Timing
from taso_opt.search.judging import finals
from taso_opt.search.judging.agreement import Agreement
from taso_opt.search.judging.finals import FASTEST, LONG_RECREATIONS, Trial, hold_finals

TIME = Latency(Timing(0.1, 0.0, 30, 0.1), Timing(0.1, 0.0, 30, 0.1))
CERTAIN, WIDE, SMALL, BEHIND = (1.10, 1.07, 1.13), (1.10, 0.98, 1.25), (1.005, 0.97, 1.05), (0.9, 0.8, 1.0)


def compared(*ratios, rounds=30):
    control, *candidates = (Contestant(TIME, *[Ratio(*ratio)] * 4) for ratio in ((1.0, 0.99, 1.01), *ratios))
    return LatencyComparison("cpu", TIME, control, tuple(candidates), rounds, 6)


@pytest.fixture
def held(monkeypatch):
    """Holds finals in which the ratios of the heat and the measurements after it are given, and tells their limits.

    Without a heat there is one candidate.
    """
    monkeypatch.setattr(finals, "agreement", lambda *_: Agreement((), ()))

    def hold(*measurements, champion=None, heat=(1.1,), rounds=8, left_s=inf, weight_bytes=0, folded_bytes=0):
        requests, answers = [], iter(measurements)

        def compare(process, request, grace_s):
            if len(request.candidates) > 1:
                entrants = heat[: len(request.candidates)]
                return compared(*((ratio, ratio, ratio) for ratio in entrants), rounds=rounds)
            requests.append((request.rounds, request.time_limit_s))
            return compared(next(answers))

        monkeypatch.setattr(finals, "compare_latency", compare)
        candidates = [f"candidate {number}" for number in range(len(heat))]
        deadline = time.monotonic() + left_s
        sizes = {"weight_bytes": weight_bytes, "folded_bytes": folded_bytes}
        trial = Trial([{}], ({},), RunSettings(), deadline=deadline, **sizes)
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


def test_a_longer_measurement_has_more_pairs_of_sessions_too(held, monkeypatch):
    asked, replaced = [], finals.replace
    monkeypatch.setattr(finals, "replace", lambda one, **more: asked.append(more) or replaced(one, **more))
    held(WIDE, CERTAIN)
    (longer,) = [more for more in asked if "recreations" in more]
    assert longer["recreations"] == LONG_RECREATIONS


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
    ((_, limit_s),) = requests
    assert limit_s == finals.CHAMPION_LIMIT_S < finals.FINAL_LIMIT_S


def test_who_ends_the_heat_of_all_takes_no_other_along(monkeypatch):
    def judge(process, original, candidate, *_):
        return Agreement((), (), "it does not end") if candidate == "endless" else Agreement((), ())

    def compare(process, request, grace_s):
        if "endless" in request.candidates:
            raise RuntimeFailure("expected an answer within some seconds, found none")
        return compared(CERTAIN)

    monkeypatch.setattr(finals, "agreement", judge)
    monkeypatch.setattr(finals, "compare_latency", compare)
    found = hold_finals(None, "model", ["endless", "good"], Trial([{}], ({},), RunSettings()))
    assert (found.finalist.number, found.finalist.won, found.dropped) == (1, True, ("it does not end",))


FAST_LAST = (1.2, 1.3, 1.4)


@pytest.mark.parametrize(
    ("heat", "measured", "number", "wins"),
    [
        (FAST_LAST, [CERTAIN], 2, True),
        (FAST_LAST, [SMALL, CERTAIN], 0, True),
        (FAST_LAST, [SMALL, BEHIND], 2, False),
        ((1.4, 1.3, 1.2), [SMALL], 0, False),
    ],
)
def test_where_the_fastest_of_the_heat_loses_the_best_by_prediction_gets_its_chance(held, heat, measured, number, wins):
    finalist, requests = held(*measured, heat=heat)
    assert (finalist.number, finalist.won) == (number, wins)
    assert len(requests) == len(measured)


@pytest.mark.parametrize(("rounds", "number"), [(1, 0), (2, 1), (8, 2)])
def test_what_few_rounds_cannot_tell_apart_is_decided_by_prediction(held, rounds, number):
    finalist, _ = held(CERTAIN, heat=(1.83, 1.9, 2.0), rounds=rounds)
    assert finalist.number == number


@pytest.mark.parametrize(
    ("measured", "number", "wins"), [([SMALL, CERTAIN], 2, True), ([SMALL, BEHIND], 0, False), ([CERTAIN], 0, True)]
)
def test_where_the_one_by_prediction_loses_the_fastest_of_the_heat_gets_its_chance(held, measured, number, wins):
    finalist, requests = held(*measured, heat=(1.95, 1.9, 2.0), rounds=1)
    assert (finalist.number, finalist.won, len(requests)) == (number, wins, len(measured))


@pytest.mark.parametrize("left_s", [-1.0, 4.0])
def test_where_time_is_nearly_up_the_best_by_prediction_gets_no_chance(held, left_s):
    finalist, requests = held(SMALL, CERTAIN, heat=FAST_LAST, left_s=left_s)
    assert (finalist.number, finalist.won, len(requests)) == (2, False, 1)


@pytest.mark.parametrize(
    ("mib", "measured", "number"),
    [(80, [CERTAIN], 2), (180, [CERTAIN], 1), (180, [SMALL, SMALL, CERTAIN], 1), (400, [CERTAIN], 0)],
)
def test_large_models_run_in_the_heat_as_there_is_room_and_the_rest_by_prediction(held, mib, measured, number):
    finalist, _ = held(*measured, heat=FAST_LAST, weight_bytes=mib << 20)
    assert finalist.number == number


def test_what_weights_take_when_they_are_folded_counts_as_well(held):
    finalist, _ = held(CERTAIN, heat=FAST_LAST, weight_bytes=80 << 20, folded_bytes=150 << 20)
    assert finalist.number == 1
    finalist, _ = held(CERTAIN, heat=FAST_LAST, weight_bytes=80 << 20, folded_bytes=300 << 20)
    assert finalist.number == 0


def test_without_a_heat_the_second_best_by_prediction_gets_its_chance(held):
    finalist, requests = held(SMALL, CERTAIN, heat=FAST_LAST, weight_bytes=400 << 20)
    assert (finalist.number, finalist.won, len(requests)) == (1, True, 2)
