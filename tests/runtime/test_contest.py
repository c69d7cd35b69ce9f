"""The contest's own order and statistics, over a clock that only the runs of its contestants move."""

from types import SimpleNamespace

import numpy as np
import pytest

from taso_opt.runtime import CompareLatency
from taso_opt.runtime.child import contest, sampling


@pytest.fixture
def compared(monkeypatch):
    """How a candidate compares that takes so many times as long as the original on feeds of these costs.

    Creating a session takes `created_s` seconds.
    """

    def compare(feeds_s, factor, created_s=0.0, time_limit_s=60.0):
        now, generator = [0.0], np.random.default_rng(1)

        def bound_runs(model, feeds, settings, optimization):
            session = 1 + 0.005 * generator.standard_normal()
            now[0] += created_s

            def run(seconds):
                now[0] += seconds * session * (factor if model == "candidate" else 1.0)

            return [lambda seconds=seconds: run(seconds) for seconds in feeds_s]

        clock = dict.fromkeys(("perf_counter", "thread_time", "process_time"), lambda: now[0])
        monkeypatch.setattr(contest, "bound_runs", bound_runs)
        for module in (contest, sampling):
            monkeypatch.setattr(module, "time", SimpleNamespace(**clock))
        feeds = tuple({"number": np.array(number)} for number, _ in enumerate(feeds_s))
        return contest.compare_latency(CompareLatency("original", ("candidate",), feeds, time_limit_s=time_limit_s))

    return compare


@pytest.mark.parametrize("feeds_s", [[0.02], [0.045, 0.010], [0.009, 0.0066], [0.04, 0.003], [0.0002, 0.02, 0.005]])
@pytest.mark.parametrize("factor", [1.2, 0.5, 3.0])
def test_what_feeds_cost_does_not_pass_for_what_models_cost(compared, feeds_s, factor):
    latency = compared(feeds_s, factor)
    found = latency.speedup(latency.candidates[0])
    assert found.value == pytest.approx(1 / factor, rel=0.02)
    assert found.low <= 1 / factor * 1.02 and found.high >= 1 / factor * 0.98


@pytest.mark.parametrize(
    ("created_s", "run_s", "limit_s", "recreations", "rounds"),
    [(0.0, 0.02, 60.0, 6, 30), (0.5, 0.03, 8.0, 3, 30), (2.5, 0.15, 24.0, 2, 18), (9.0, 0.15, 24.0, 2, 2)],
)
def test_sessions_are_created_as_often_as_leaves_time_for_rounds(
    compared, created_s, run_s, limit_s, recreations, rounds
):
    latency = compared([run_s], 1.0, created_s, limit_s)
    assert latency.recreations == recreations
    assert rounds - 2 <= latency.rounds <= rounds
