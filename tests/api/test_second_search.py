"""A search is repeated where what it found looks otherwise when its costs are measured again, and only there."""

from dataclasses import replace

import pytest

from taso_opt.api import OptimizeSettings, optimize_file, searching
from taso_opt.api.searching import _rests_on_noise
from taso_opt.search.backtracking import BacktrackingSearch
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


def rests_on_noise(before, after):
    """Whether a search in which the other graph cost so much of the original is repeated when it costs that after."""
    original, other = Plan(ORIGINAL, 1.0), Plan(OTHER, before, (STEP,))
    better = before < 1.0
    plans = (other, original) if better else (original,)
    found = SearchResult(plans, 1, 1, 0.0, "patience", runner_up=None if better else other)
    latency = Latency({ORIGINAL: 1.0, OTHER: before}, {ORIGINAL: 1.0, OTHER: after})
    assert found.leader is other
    return _rests_on_noise(found, other, ORIGINAL, latency), latency.asked


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


@pytest.mark.parametrize("stopped_by", ["interrupt", "budget"])
def test_a_search_that_was_ended_before_its_end_has_no_leader_to_doubt(stopped_by):
    original, other = Plan(ORIGINAL, 1.0), Plan(OTHER, 0.5, (STEP,))
    assert SearchResult((other, original), 1, 1, 0.0, "patience").leader is other
    assert SearchResult((other, original), 1, 1, 0.0, stopped_by).leader is None


def test_a_search_without_a_runner_up_has_no_leader_either():
    assert SearchResult((Plan(ORIGINAL, 1.0),), 1, 1, 0.0, "patience").leader is None


@pytest.mark.parametrize("objective", ["latency", "flops"])
@pytest.mark.parametrize("end", ["nothing", "interrupt"])
def test_a_second_search_loses_nothing_of_the_first_and_is_made_where_times_count(
    end, objective, chain, process, monkeypatch, first_wins
):
    searches = []

    class Search(BacktrackingSearch):
        def run(self, outputs, progress=None):
            searches.append(outputs)
            found = super().run(outputs, progress)
            if len(searches) == 2 and end == "interrupt":
                raise KeyboardInterrupt
            return found if len(searches) == 1 else replace(found, plans=found.plans[-1:], runner_up=None)

    monkeypatch.setattr(searching, "BacktrackingSearch", Search)
    monkeypatch.setattr(searching, "_rests_on_noise", lambda *asked: len(searches) == 1)
    record = optimize_file(chain, OptimizeSettings(objective=objective, budget=20), process=process)
    assert len(searches) == (2 if objective == "latency" else 1)
    assert record.result == "improved"
    assert (record.search.stopped_by == "interrupt") == (end == "interrupt" and objective == "latency")
