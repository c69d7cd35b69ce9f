"""How often something runs before it is timed."""

import time

import pytest

from taso_opt.runtime.child import sampling
from taso_opt.runtime.settings import ONE_CPU_THREAD


@pytest.mark.parametrize(("first_s", "later_s", "on_gpu", "runs"), [(0.06, 0.06, False, 1), (0.06, 0.006, True, 2)])
def test_a_long_first_run_tells_how_long_they_are_but_not_on_a_gpu(first_s, later_s, on_gpu, runs):
    clock, done = sampling.clock_of(ONE_CPU_THREAD), []

    def run():
        end = time.thread_time() + (later_s if done else first_s)
        while time.thread_time() < end:
            pass
        done.append(end)

    assert sampling.first_calibration(run, clock, on_gpu) >= later_s
    assert len(done) == runs


def test_a_short_first_run_is_followed_by_longer_bursts():
    done = []
    assert sampling.first_calibration(lambda: done.append(1), sampling.clock_of(ONE_CPU_THREAD), on_gpu=False) > 0
    assert len(done) > 100
