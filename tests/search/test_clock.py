"""A clock says when time is up."""

from taso_opt.search.clock import Clock


def test_it_counts_from_its_making(monkeypatch):
    times = {"now": 7.0}
    monkeypatch.setattr("time.monotonic", lambda: times["now"])
    clock = Clock()
    assert clock.seconds == 0.0 and not clock.is_past(0.0)
    times["now"] = 17.0
    assert clock.seconds == 10.0
    assert clock.is_past(9.9) and not clock.is_past(10.0)
