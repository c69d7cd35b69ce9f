"""Costs come from the runtime once, then from the table."""

import math

import pytest

from taso_opt.core.term import Const, Var
from taso_opt.cost import CostEntry, CostModel, Goal, Measurer, TradeCost, parse_objective
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.cost.kernels.work import MULTIPLICATIONS_A_SECOND
from taso_opt.cost.measuring.surroundings import working_set
from taso_opt.runtime import Absent, RunSettings, RuntimeInfo, RuntimeProcess, probe
from taso_opt.spec import load_specs
from terms import tensor


class CountingMeasurer:
    """Says that every unit costs one second, and counts what it was asked."""

    place, machine, reference_s = "nowhere", "here", 1.0

    def __init__(self):
        self.asked = []

    def measure(self, units, builder, finder, opset):
        self.asked += [unit.key for unit in units]
        return [CostEntry(self.place, unit.key, 1.0, 0.0, 1) for unit in units]

    def measure_cores(self, units, builder, finder, opset):
        return []


def test_a_unit_is_measured_once_and_then_known(table):
    op = load_specs().builder()
    x = tensor(Var, "x", 4)
    outputs = [op.Tanh(op.Tanh(op.Sigmoid(x)))]
    measurer = CountingMeasurer()
    model = CostModel(op, table, measurer, opset=17)
    assert model.cost(outputs) == 3.0
    assert model.cost(outputs) == 3.0
    assert sorted(measurer.asked) == ["Sigmoid(x0:float32[4])", "Tanh(x0:float32[4])"]
    again = CountingMeasurer()
    assert CostModel(op, table, again, opset=17).cost(outputs) == 3.0
    assert again.asked == []


def test_what_a_unit_is_worth_follows_from_its_time_if_that_is_known_and_counts(table):
    op = load_specs().builder()
    model = CostModel(op, table, CountingMeasurer(), opset=17)
    known, unknown = (model.units([op.Tanh(tensor(Var, "x", size))])[0] for size in (4, 5))
    model.prepare([known])
    assert (model.worth(known), model.worth(unknown)) == (MULTIPLICATIONS_A_SECOND, 0.0)
    goals = [Goal(parse_objective(text)) for text in ("latency=1,flops=1", "flops")]
    trades = [TradeCost(goal, model, op, [op.Tanh(tensor(Var, "x", 4))]) for goal in goals]
    assert [trade.worth(known) for trade in trades] == [MULTIPLICATIONS_A_SECOND, 0.0]


def test_the_runtime_finds_a_large_product_dearer_than_a_small_one(table):
    op = load_specs().builder()
    large = op.MatMul(tensor(Var, "x", 64, 512), tensor(Const, "w", 512, 512))
    small = op.MatMul(tensor(Var, "y", 8, 64), tensor(Const, "v", 64, 64))
    with RuntimeProcess() as process:
        measurer = Measurer(process, RunSettings(), probe(process))
        model = CostModel(op, table, measurer, opset=17)
        model.prepare(model.units([large, small]))
    assert 0 < model.cost([small]) < model.cost([large]) < 1


def test_a_unit_that_the_runtime_refuses_costs_infinity(table):
    op = load_specs().builder()
    image = op.AveragePool(
        tensor(Var, "x", 1, 1, 4, 4), kernel=(2, 2), strides=(1, 1), pads=(0, 0, 0, 0), count_include_pad=0
    )
    with RuntimeProcess() as process:
        measurer = Measurer(process, RunSettings(), probe(process))
        model = CostModel(op, table, measurer, opset=99)
        assert model.cost([image]) == math.inf


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(0, 1 << 20), (1 << 20, 1 << 20), ((8 << 20) + 4096, 8 << 20), (11 << 20, 10 << 20), (1 << 40, 32 << 20)],
)
def test_the_working_set_is_about_that_of_the_weights_within_bounds(weights, expected):
    assert working_set(weights) == expected


class WarmingUp:
    """Measures 2 s at first and then a second less for a hyperbolic tangent, a second more for all else."""

    place, machine, reference_s = "nowhere", "here", 1.0

    def __init__(self):
        self.asked = []

    def measure(self, units, builder, finder, opset):
        again = bool(self.asked)
        self.asked += [unit.key.split("(")[0] for unit in units]
        seconds = [2.0 + (again and (-1.0 if unit.key.startswith("Tanh") else 1.0)) for unit in units]
        return [CostEntry(self.place, unit.key, cost, 0.0, 1) for unit, cost in zip(units, seconds, strict=True)]

    def measure_cores(self, units, builder, finder, opset):
        return []


class Settling(WarmingUp):
    """Measures 2 s at first and then a tenth of a second less."""

    def measure(self, units, builder, finder, opset):
        seconds = 1.9 if self.asked else 2.0
        self.asked += [unit.key for unit in units]
        return [CostEntry(self.place, unit.key, seconds, 0.0, 1) for unit in units]


def test_the_mean_of_two_times_that_differ_little_counts(table):
    op = load_specs().builder()
    x, measurer = tensor(Var, "x", 4), Settling()
    first, second = [op.Tanh(op.Relu(x))], [op.Sigmoid(op.Relu(x))]
    model = CostModel(op, table, measurer, opset=17)
    model.prepare([*model.units(first), *model.units(second)])
    assert model.measure_again(first, second) == pytest.approx(0.0)
    assert model.cost(first) == model.cost(second) == pytest.approx(2.0 + 1.95)


def test_kernels_in_which_two_graphs_differ_are_measured_again_once_and_of_two_far_apart_the_shorter_counts(table):
    op = load_specs().builder()
    x = tensor(Var, "x", 4)
    first, second, measurer = [op.Tanh(op.Relu(x))], [op.Sigmoid(op.Relu(x))], WarmingUp()
    model = CostModel(op, table, measurer, opset=17)
    model.prepare([*model.units(first), *model.units(second)])
    assert sorted(measurer.asked) == ["Relu", "Sigmoid", "Tanh"]
    assert model.measure_again(first, second) == pytest.approx(1.0)
    assert sorted(measurer.asked[3:]) == ["Sigmoid", "Tanh"]  # both have the same Relu
    assert (model.cost(first), model.cost(second)) == (3.0, 4.0)
    assert model.measure_again(first, second) == 0.0
    assert len(measurer.asked) == 5
    known = CostModel(op, table, measurer, opset=17)
    assert (known.cost(first), known.cost(second)) == (4.0, 4.0)
    assert known.measure_again(first, second) == pytest.approx(1.0)
    assert (known.cost(first), known.cost(second)) == (3.0, 4.0)
    assert len(measurer.asked) == 5  # another run with the table goes the way that the first one went


def test_what_is_added_to_is_moved_once_for_as_many_convolutions_as_make_that_little(monkeypatch):
    op, asked = load_specs().builder(), {}

    def convolution(channels, size=28):
        kernel, image = tensor(Const, "w", 256, channels, 1, 1), tensor(Var, "x", 1, channels, size, size)
        return op.Conv(image, kernel, dilations=(1, 1), group=1, pads=(0,) * 4, strides=(1, 1))

    def heard(process, items, run, plan, beside):
        asked.update({item.key: item.copies for item in items})
        return {item.key: Absent() for item in items}

    monkeypatch.setattr("taso_opt.cost.measuring.steady.measure_many", heard)
    info = RuntimeInfo("onnxruntime", "1.32.0", ("CPUExecutionProvider",))
    measurer, finder = Measurer(None, RunSettings(), info), UnitFinder(op)
    other = tensor(Var, "y", 1, 256, 28, 28)
    sums = [op.Add(convolution(channels), other) for channels in (4, 64, 2048)]
    units = [finder.units([output])[0] for output in (*sums, convolution(256))]
    measurer.measure_cores(units, op, finder, 17)
    light, middle, heavy, alone = (asked[unit.key] for unit in units)
    assert light > middle > heavy == alone == 1
