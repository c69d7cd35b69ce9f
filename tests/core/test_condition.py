"""Bounds on the values of constants: what they admit, and which of them are weaker than others."""

import numpy as np
import pytest

from taso_opt.core.condition import (
    ALL_BOUNDS,
    AT_LEAST_0,
    AT_LEAST_1,
    AT_LEAST_MINUS_1,
    AT_MOST_0,
    AT_MOST_1,
    FROM_0_TO_1,
    POSITIVE,
    Condition,
    weaker,
)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        (AT_LEAST_0, [0.0, 3.0], [-0.1, 3.0]),
        (AT_MOST_0, [0.0, -3.0], [0.0, 0.1]),
        (AT_MOST_1, [1.0, -7.0], [1.0, 1.01]),
        (POSITIVE, [0.1, 4.0], [0.0, 4.0]),
        (AT_LEAST_1, [1.0, 2.0], [0.99, 2.0]),
        (FROM_0_TO_1, [0.0, 0.5, 1.0], [0.5, 1.5]),
    ],
)
def test_bounds_admit_what_lies_within_and_nothing_else(bounds, inside, outside):
    assert bounds.admit(np.array(inside))
    assert not bounds.admit(np.array(outside))


@pytest.mark.parametrize("bounds", ALL_BOUNDS, ids=lambda one: one.text)
def test_what_is_no_number_is_never_admitted(bounds):
    assert not bounds.admit(np.array([0.5, np.nan]))


def test_bounds_are_weaker_than_those_within_them():
    assert set(weaker(FROM_0_TO_1)) == {AT_LEAST_MINUS_1, AT_LEAST_0, AT_MOST_1}
    assert set(weaker(AT_LEAST_1)) == {AT_LEAST_MINUS_1, AT_LEAST_0, POSITIVE}
    assert weaker(POSITIVE) == [AT_LEAST_MINUS_1, AT_LEAST_0]
    assert weaker(AT_LEAST_0) == [AT_LEAST_MINUS_1]
    assert weaker(AT_MOST_0) == [AT_MOST_1]
    assert weaker(AT_LEAST_MINUS_1) == weaker(AT_MOST_1) == []


def test_weaker_bounds_come_first():
    for place, bounds in enumerate(ALL_BOUNDS):
        assert not any(bounds.within(other) for other in ALL_BOUNDS[place + 1 :])


def test_a_condition_is_written_with_its_variable():
    assert str(Condition("slope", FROM_0_TO_1)) == "0 <= slope <= 1"
