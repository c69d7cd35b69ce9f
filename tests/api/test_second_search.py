"""A search is repeated where what it found looks otherwise when its costs are measured again, and only there."""

from types import SimpleNamespace

import pytest

from taso_opt.api.optimization import _rests_on_noise
from taso_opt.search.clock import Clock
from taso_opt.search.plan import Plan, SearchResult

ORIGINAL, OTHER = ("original",), ("other",)
STEP = object()


class Latency:
    """Costs of two graphs, before and after they are measured again."""

    def __init__(self, before, after):
        self._costs, self._after, self.asked = before, after, []

    def cost(self, outputs):
        return self._costs[outputs]

    def measure_again(self, first, second):
        before = self.cost(first) - self.cost(second)
        self.asked.append((first, second))
        self._costs = self._after
        return abs(self.cost(first) - self.cost(second) - before)


def rests_on_noise(before, after, stopped_by="patience", budget=100.0):
    """Whether a search in which the other graph cost so much of the original is repeated when it costs that after."""
    original, other = Plan(ORIGINAL, 1.0), Plan(OTHER, before, (STEP,))
    better = before < 1.0
    plans = (other, original) if better else (original,)
    found = SearchResult(plans, 1, 1, 0.0, stopped_by, runner_up=None if better else other)
    latency = Latency({ORIGINAL: 1.0, OTHER: before}, {ORIGINAL: 1.0, OTHER: after})
    job = SimpleNamespace(budget=budget, model=SimpleNamespace(graph=SimpleNamespace(outputs=ORIGINAL)))
    return _rests_on_noise(job, found, latency, Clock()), latency.asked


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0.8, 0.8, False),
        (0.8, 0.78, False),
        (0.8, 0.95, True),  # most of a gain was noise
        (0.8, 1.2, True),
        (1.03, 1.03, False),
        (1.03, 1.01, False),
        (1.03, 0.8, True),  # a loss was noise
        (1.03, 1.2, False),  # what loses even more changes nothing
    ],
)
def test_a_search_is_repeated_where_a_gain_or_a_loss_was_noise(before, after, expected):
    repeated, asked = rests_on_noise(before, after)
    assert repeated == expected
    assert asked == [(ORIGINAL, OTHER)]


@pytest.mark.parametrize(("stopped_by", "budget"), [("interrupt", 100.0), ("budget", 100.0), ("patience", 0.0)])
def test_a_search_that_has_no_time_left_is_not_repeated(stopped_by, budget):
    assert rests_on_noise(0.8, 0.95, stopped_by, budget) == (False, [])


def test_a_search_without_a_runner_up_is_not_repeated():
    found = SearchResult((Plan(ORIGINAL, 1.0),), 1, 1, 0.0, "patience")
    job = SimpleNamespace(budget=100.0, model=SimpleNamespace(graph=SimpleNamespace(outputs=ORIGINAL)))
    latency = Latency({ORIGINAL: 1.0}, {ORIGINAL: 1.0})
    assert not _rests_on_noise(job, found, latency, Clock())
    assert latency.asked == []
