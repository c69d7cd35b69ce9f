"""Comparing latencies: the A/A control, slower and faster candidates, failures, time limits, the verdict's rule."""

import pytest

from taso_opt.errors import RuntimeFailure
from taso_opt.runtime import (
    CompareLatency,
    Contestant,
    Failed,
    Latency,
    LatencyComparison,
    Ratio,
    RunSettings,
    Timing,
    compare_latency,
)


def contestant(value: float, low: float, high: float) -> Contestant:
    timing = Timing(1.0, 0.0, 30, 1.0)
    ratio, level = Ratio(value, low, high), Ratio(1.0, 1.0, 1.0)
    return Contestant(Latency(timing, timing), ratio, level, ratio, level)


def comparison(control: Contestant, candidate: Contestant, clock: str = "cpu") -> LatencyComparison:
    return LatencyComparison(clock, control.latency, control, (candidate,), 30, 3)


def test_identical_models_have_a_ratio_near_one(shared_process, unary):
    model = unary("Tanh", (64, 64))
    result = compare_latency(shared_process, CompareLatency(model, (model,), sample_s=1e-3))
    assert (result.clock, result.rounds, result.recreations) == ("cpu", 30, 6)
    (twin,) = result.candidates
    assert isinstance(twin, Contestant)
    for one in (result.control, twin):
        for ratio in (one.cpu_ratio, one.wall_ratio):
            assert 0.2 < ratio.value < 5
            assert ratio.low <= ratio.value <= ratio.high
        assert one.latency.cpu.samples == one.latency.wall.samples == 30
    assert result.noise >= 1


def test_an_obviously_slower_and_an_obviously_faster_model_are_recognised(shared_process, matmuls):
    one, three, eight = (matmuls(count, 512) for count in (1, 3, 8))
    result = compare_latency(shared_process, CompareLatency(three, (one, eight), sample_s=1e-3))
    faster, slower = result.candidates
    assert isinstance(faster, Contestant)
    assert isinstance(slower, Contestant)
    assert result.ratio(faster).value > 1.5
    assert result.is_ahead(faster)
    assert result.ratio(slower).value < 0.7
    assert not result.is_ahead(slower)
    assert slower.latency.cpu.median_ms > result.original.cpu.median_ms > faster.latency.cpu.median_ms


def test_several_threads_are_judged_by_the_wall_clock(shared_process, unary):
    model = unary("Relu")
    request = CompareLatency(model, (model,), settings=RunSettings(threads=2), rounds=6, sample_s=1e-4)
    result = compare_latency(shared_process, request)
    assert result.clock == "wall"
    assert result.ratio(result.control) == result.control.wall_ratio
    assert result.timing(result.original) == result.original.wall


def test_a_candidate_that_does_not_load_fails_alone_and_in_its_place(shared_process, unary):
    model = unary("Relu")
    request = CompareLatency(model, (b"junk", model), rounds=4, sample_s=1e-4)
    bad, good = compare_latency(shared_process, request).candidates
    assert isinstance(bad, Failed)
    assert "INVALID_PROTOBUF" in bad.reason
    assert isinstance(good, Contestant)


def test_an_original_that_does_not_load_is_an_error(shared_process, unary):
    with pytest.raises(RuntimeFailure, match="load a model of 4 bytes"):
        compare_latency(shared_process, CompareLatency(b"junk", (unary("Relu"),)))


def test_a_time_limit_that_is_already_over_leaves_a_round_of_two_recreations(shared_process, unary):
    model = unary("Relu")
    result = compare_latency(shared_process, CompareLatency(model, (model,), time_limit_s=0.0))
    assert (result.rounds, result.recreations) == (2, 2)
    assert result.original.cpu.samples == 2
    found = result.speedup(result.candidates[0])
    assert found.low < found.value < found.high, "one round alone would say nothing of its noise"


def test_where_one_recreation_is_wanted_there_is_one(shared_process, unary):
    model = unary("Relu")
    result = compare_latency(shared_process, CompareLatency(model, (model,), recreations=1, time_limit_s=0.0))
    assert (result.rounds, result.recreations) == (1, 1)


def test_rounds_are_spread_over_all_recreations(shared_process, unary):
    request = CompareLatency(unary("Relu"), (), rounds=7, recreations=4, sample_s=1e-5)
    result = compare_latency(shared_process, request)
    assert (result.rounds, result.recreations) == (7, 4)


def test_noise_is_the_far_end_of_the_control_in_either_direction():
    assert comparison(contestant(1.0, 0.99, 1.04), contestant(1, 1, 1)).noise == pytest.approx(1.04)
    assert comparison(contestant(1.0, 0.95, 1.01), contestant(1, 1, 1)).noise == pytest.approx(1 / 0.95)


def test_a_gain_within_the_noise_is_no_gain():
    control = contestant(1.0, 0.97, 1.03)
    for candidate, ahead in (
        (contestant(1.10, 1.05, 1.15), True),
        (contestant(1.03, 1.01, 1.05), False),
        (contestant(1.10, 0.99, 1.20), False),
        (contestant(0.90, 0.85, 0.95), False),
    ):
        assert comparison(control, candidate).is_ahead(candidate) is ahead


def test_a_gain_less_than_what_the_originals_session_was_off_is_no_gain():
    control, candidate = contestant(1.05, 1.04, 1.06), contestant(1.03, 1.02, 1.04)
    result = comparison(control, candidate)
    assert result.corrected(candidate) == 1.03
    assert not result.is_ahead(candidate)
