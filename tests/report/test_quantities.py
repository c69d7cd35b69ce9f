"""Times are told in a unit in which they have digits."""

import pytest

from taso_opt.report.quantities import duration, duration_with_spread, saving, times


@pytest.mark.parametrize(("ms", "text"), [(2.4471, "2.447 ms"), (0.1, "0.100 ms"), (0.00812, "8.12 µs"), (0.0, "0")])
def test_short_times_are_told_in_microseconds(ms, text):
    assert duration(ms) == text


@pytest.mark.parametrize(("ratio", "text"), [(1.634, "1.63"), (1.004, "1.004"), (0.998, "0.998"), (0.97, "0.97")])
def test_a_ratio_is_never_told_as_if_nothing_had_changed(ratio, text):
    assert times(ratio) == text


def test_a_spread_is_in_the_unit_of_its_time():
    assert duration_with_spread(2.4471, 0.0771) == "2.447 ms ± 0.077"
    assert duration_with_spread(0.00812, 0.0003) == "8.12 µs ± 0.30"


@pytest.mark.parametrize(
    ("ms", "text"), [(0.125, "+0.125 ms"), (-0.00812, "-8.12 µs"), (-1e-9, "+0.00 µs"), (-2.5, "-2.500 ms")]
)
def test_what_a_change_saves_has_a_sign(ms, text):
    assert saving(ms) == text
