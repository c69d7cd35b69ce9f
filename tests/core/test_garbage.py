"""The collector is asked to rest and always woken again."""

import gc

import pytest

from taso_opt.core.machine.garbage import THRESHOLDS, rare_garbage_collection


def test_the_collector_rests_inside_and_is_as_before_behind_also_after_an_error():
    before = gc.get_threshold(), gc.get_freeze_count()
    with rare_garbage_collection():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.isenabled() and gc.get_freeze_count() > before[1]
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
    with pytest.raises(ValueError, match="inside"), rare_garbage_collection():
        raise ValueError("inside")
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_circles_made_inside_are_still_found():
    with rare_garbage_collection():
        start = sum(gc.get_stats()[generation]["collected"] for generation in range(3))
        for _ in range(2 * THRESHOLDS[0]):
            circle = []
            circle.append(circle)
        assert sum(gc.get_stats()[generation]["collected"] for generation in range(3)) > start
