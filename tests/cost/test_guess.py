"""What was not measured is guessed by what kernels of the same operators took."""

import math

import pytest

from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost.guess import Guesses
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.cost.kernels.work import rough_seconds

SLOWER = 3.0
SAME = {"dilations": (1, 1), "pads": (1, 1, 1, 1), "strides": (1, 1)}


@pytest.fixture
def unit_of(op):
    def unit_of(name, size):
        (unit,) = UnitFinder(op).units([getattr(op, name)(Var("x", TensorType("float32", (size,))))])
        return unit

    return unit_of


def learnt(op, units, seconds_of):
    guesses = Guesses(op)
    for unit in units:
        guesses.learn(unit, seconds_of(unit))
    return guesses


def test_kernels_of_the_same_operators_tell(op, unit_of):
    guesses = learnt(op, [unit_of("Tanh", 1000)], lambda unit: SLOWER * rough_seconds(unit, op))
    larger = unit_of("Tanh", 5000)
    assert guesses.seconds(larger) == pytest.approx(SLOWER * rough_seconds(larger, op))
    assert guesses.seconds(unit_of("Relu", 5000)) is None


def test_a_guess_is_an_early_one(op, unit_of):
    slowness = {size: float(size) for size in range(1, 9)}
    units = [unit_of("Tanh", size) for size in slowness]
    guesses = learnt(op, units, lambda unit: slowness[op.type(unit.roots[0]).shape[0]] * rough_seconds(unit, op))
    other = unit_of("Tanh", 100)
    assert guesses.seconds(other) == pytest.approx(3.0 * rough_seconds(other, op))


def test_what_is_known_is_not_guessed(op, unit_of):
    guesses = learnt(op, [unit_of("Tanh", 10), unit_of("Tanh", 20)], lambda unit: 7.0)
    assert guesses.seconds(unit_of("Tanh", 20)) == 7.0


@pytest.mark.parametrize("seconds", [0.0, math.inf])
def test_what_takes_no_time_or_cannot_run_tells_nothing_of_others(op, unit_of, seconds):
    guesses = learnt(op, [unit_of("Tanh", 10)], lambda unit: seconds)
    assert guesses.seconds(unit_of("Tanh", 10)) == seconds
    assert guesses.seconds(unit_of("Tanh", 20)) is None


def test_convolutions_of_groups_are_told_by_those_with_as_many_channels_in_a_group(op):
    def grouped(channels, group):
        image, kernel = TensorType("float32", (1, channels, 28, 28)), (channels, channels // group, 3, 3)
        convolution = op.Conv(Var("x", image), Const("w", TensorType("float32", kernel)), group=group, **SAME)
        return UnitFinder(op).units([convolution])[0]

    guesses = learnt(op, [grouped(32, 8)], lambda unit: SLOWER * rough_seconds(unit, op))
    wider = grouped(64, 16)
    assert guesses.seconds(wider) == pytest.approx(SLOWER * rough_seconds(wider, op))
    assert guesses.seconds(grouped(32, 4)) is None
    assert guesses.seconds(grouped(32, 1)) is None
