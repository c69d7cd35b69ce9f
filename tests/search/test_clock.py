"""A clock says when time is up, and says the same again to a search that asks the same."""

import pytest

from taso_opt.cost import Cut
from taso_opt.search.clock import Clock
from taso_opt.search.plan import Patience, SearchLimits


@pytest.fixture
def now(monkeypatch):
    times = {"now": 0.0}
    monkeypatch.setattr("time.monotonic", lambda: times["now"])

    def moved(seconds):
        times["now"] = seconds

    return moved


def test_it_remembers_which_questions_it_answered_with_yes(now):
    clock = Clock()
    assert not clock.is_past(10.0)
    assert clock.cut is None
    now(20.0)
    assert [clock.is_past(10.0), clock.is_past(30.0), clock.is_past(15.0)] == [True, False, True]
    assert clock.cut == Cut(4, (2, 4))
    assert not clock.repeats


def test_it_repeats_what_it_said_whatever_the_time(now):
    clock = Clock(Cut(4, (2, 4)))
    assert clock.repeats
    answers = [clock.is_past(10.0) for _ in range(2)]
    now(12.0)
    answers += [clock.is_past(10.0) for _ in range(2)]
    assert answers == [False, True, False, True]
    assert clock.cut == Cut(4, (2, 4))


def test_what_was_not_asked_before_or_takes_far_too_long_ends(now):
    clock = Clock(Cut(2, (2,)))
    assert [clock.is_past(10.0) for _ in range(3)] == [False, True, True]
    late = Clock(Cut(9, (9,)))
    now(25.0)
    assert late.is_past(10.0)


def test_a_search_ends_where_time_cut_the_same_search_before(now):
    def graphs_until_cut(clock, seconds):
        patience = Patience(SearchLimits(budget=5.0), clock)
        while not patience.exhausted():
            patience.spend()
            now(patience.expanded * seconds)
        assert patience.reason == "budget"
        return patience.expanded

    first = Clock()
    assert graphs_until_cut(first, 1.5) == 4
    now(0.0)
    assert graphs_until_cut(Clock(first.cut), 0.01) == 4
