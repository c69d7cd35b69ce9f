"""Costs are disturbed by a factor of its own for each kernel, which a draw decides."""

from dataclasses import replace

import pytest

from benchmarks.disturbed import DisturbedMeasurer
from taso_opt.cost import CostEntry, Measurer

KERNELS = [f"Relu(x0:float32[{size}])" for size in range(1, 41)]


@pytest.fixture
def measurer(monkeypatch):
    """A measurer for which every kernel takes a second."""

    def entries(self, units, *_):
        return [CostEntry("device", unit, 1.0, 0.0, 1) for unit in units]

    for name in ("measure", "measure_cores"):
        monkeypatch.setattr(Measurer, name, entries)
    return DisturbedMeasurer.__new__(DisturbedMeasurer)


def factors(measurer, draw=0, kernels=KERNELS, between=False):
    measurer.draw = draw
    measured = (measurer.measure_cores if between else measurer.measure)(kernels, None, None, 17)
    assert [replace(entry, seconds=1.0) for entry in measured] == [
        CostEntry("device", kernel, 1.0, 0.0, 1) for kernel in kernels
    ]
    return [entry.seconds for entry in measured]


def test_factors_lie_on_both_sides_of_one_and_within_the_bounds(measurer):
    found = factors(measurer)
    assert 0.8 <= min(found) < 0.9 < 1.1 < max(found) <= 1.25
    assert len(set(found)) == len(KERNELS)


def test_a_draw_is_repeated_and_others_differ(measurer):
    assert factors(measurer, draw=1) == factors(measurer, draw=1) != factors(measurer, draw=2)


def test_a_kernel_has_the_same_factor_alone_and_between_convolutions(measurer):
    formed = [f"{kernel} [b>b]" for kernel in KERNELS]
    assert factors(measurer, kernels=formed, between=True) == factors(measurer)
