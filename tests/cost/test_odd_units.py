"""Convolutions of every kind, and units that the runtime cannot lower, measure or survive: each costs only itself."""

import math
import os
import signal
from fractions import Fraction

import pytest

from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost import CostEntry, CostModel, CostTable, Measurer
from taso_opt.cost.kernels.layout import MOST_CHANNELS, form_key, is_of_images
from taso_opt.cost.kernels.work import rough_seconds
from taso_opt.runtime import WHOLE, RunSettings, RuntimeProcess, probe, questions
from taso_opt.runtime.requests import MeasureMany

CONVOLUTIONS = {
    "one axis": ((1, 8, 20), (8, 8, 3), 1),
    "three axes": ((1, 8, 5, 5, 5), (8, 8, 3, 3, 3), 1),
    "as many groups as channels": ((1, 32, 8, 8), (32, 1, 3, 3), 32),
    "as many groups as odd channels": ((1, 5, 8, 8), (5, 1, 3, 3), 5),
    "groups and a batch": ((2, 32, 8, 8), (64, 8, 3, 3), 4),
    "odd channels": ((3, 7, 8, 8), (13, 7, 3, 3), 1),
    "no image at all": ((0, 8, 8, 8), (8, 8, 3, 3), 1),
    "more channels than are asked for": ((1, MOST_CHANNELS + 1, 1, 1), (4, MOST_CHANNELS + 1, 1, 1), 1),
}
EMPTY = {
    "no channels": ((1, 0, 8, 8), (8, 0, 3, 3)),
    "no filters": ((1, 8, 8, 8), (0, 8, 3, 3)),
}
"""Refused until ONNX Runtime 1.31, computed since."""
REFUSED = {
    "doubles": ("float64", (1, 8, 8, 8), (8, 8, 3, 3), 1),
    "more than memory holds": ("float32", (1, 1 << 40, 1 << 20, 1), (1, 1 << 40, 1, 1), 1),
}


@pytest.fixture
def model_of(op, tmp_path):
    """A cost model with a table of its own."""
    with CostTable(tmp_path / "costs.sqlite") as table:
        yield lambda measurer: CostModel(op, table, measurer, opset=17)


def conv(op, shape, filters, group=1, dtype="float32"):
    axes = len(shape) - 2
    return op.Conv(
        Var("x", TensorType(dtype, shape)),
        Const("w", TensorType(dtype, filters)),
        strides=(1,) * axes,
        pads=(0,) * (2 * axes),
        dilations=(1,) * axes,
        group=group,
    )


def small(op):
    return op.Relu(conv(op, (1, 32, 8, 8), (32, 32, 3, 3)))


def measurer(process):
    return Measurer(process, RunSettings(), probe(process))


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_of_this_kind_has_a_cost(name, op, process, model_of):
    shape, filters, group = CONVOLUTIONS[name]
    assert 0 <= model_of(measurer(process)).cost([op.Relu(conv(op, shape, filters, group))]) < 1


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_convolution_has_a_cost_where_the_runtime_computes_it(name, op, process, model_of):
    model, outputs = model_of(measurer(process)), [conv(op, *EMPTY[name])]
    cost = model.cost(outputs)
    assert 0 <= cost < 1 or cost == math.inf
    model.settle(outputs)
    assert 0 <= model.cost(outputs) < 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_runtime_cannot_compute_costs_infinity_and_is_estimated_where_the_original_has_it(
    name, op, process, model_of
):
    dtype, shape, filters, group = REFUSED[name]
    model, outputs = model_of(measurer(process)), [conv(op, shape, filters, group, dtype)]
    assert model.cost(outputs) == math.inf
    model.settle(outputs)
    assert 0 <= model.cost(outputs) < math.inf
    assert model.cost([op.Tanh(outputs[0])]) > model.cost(outputs)


@pytest.mark.parametrize("bias", [Fraction(0), Fraction(3, 8)])
def test_a_convolution_to_one_channel_has_a_cost_whatever_is_known_of_its_bias(op, process, tmp_path, bias):
    x, weights = Var("x", TensorType("float32", (1, 8, 9, 9))), Const("w", TensorType("float32", (1, 8, 3, 3)))
    known = Const("b", TensorType("float32", (1,)))
    image = op.Conv(x, weights, known, strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1), group=1)
    with CostTable(tmp_path / "costs.sqlite") as table:
        model = CostModel(op, table, measurer(process), opset=17, value_of={known: bias}.get)
        assert 0 < model.cost([op.Tanh(image)]) < 1


def test_empty_images_and_those_of_too_many_channels_are_never_asked_about_blocks(op, process, model_of):
    model = model_of(measurer(process))
    for shape in ((0, 8, 8, 8), (1, MOST_CHANNELS + 1, 1, 1)):
        units = model.units([op.Relu(Var("x", TensorType("float32", shape)))])
        assert not any(is_of_images(unit, op) for unit in units)
    assert all(is_of_images(unit, op) for unit in model.units([small(op)]))


class Sabotaged(RuntimeProcess):
    """A runtime's process that a signal hits whenever it is asked to time a part of a model."""

    def __init__(self, sent):
        super().__init__()
        self.sent, self.asked = sent, 0

    def _send(self, message, timeout_s):
        super()._send(message, timeout_s)
        if isinstance(message, MeasureMany) and any(item.part != WHOLE for item in message.items):
            self.asked += 1
            os.kill(self.pid, self.sent)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lowering_that_kills_or_hangs_the_runtime_leaves_the_unit_with_what_it_costs_alone(
    sent, op, model_of, monkeypatch
):
    monkeypatch.setattr(questions, "BATCH_LIMIT_S", 10.0)
    alone = conv(op, (1, 32, 8, 8), (32, 32, 3, 3))  # with no stem that would be lowered too
    with Sabotaged(sent) as process:
        model = model_of(measurer(process))
        assert 0 < model.cost([alone]) < 1
        assert process.asked == 1
        assert [unit.key for unit in model.kernels([alone])] == [unit.key for unit in model.units([alone])]


def test_a_conversion_that_cannot_be_asked_about_is_not_taken_to_be_free(op, model_of):
    class OnBlocks:
        """Says that every unit runs on blocks."""

        def __init__(self, honest):
            self.place, self.measure = honest.place, honest.measure
            self.machine, self.reference_s = honest.machine, 1.0

        def measure_cores(self, units, builder, finder, opset):
            return [CostEntry(self.place, form_key(unit, "b>b"), 1.0, 0.0, 1) for unit in units]

    with Sabotaged(signal.SIGKILL) as process:
        model = model_of(OnBlocks(measurer(process)))
        assert model.cost([small(op)]) == math.inf
        assert process.asked == 1 + 2  # both at once, and each on its own


class Refusing:
    """Nothing but a hyperbolic tangent can be measured; it takes a second."""

    place, machine, reference_s = "nowhere", "here", 1.0

    def measure(self, units, builder, finder, opset):
        costs = [1.0 if unit.key.startswith("Tanh") else math.inf for unit in units]
        return [CostEntry(self.place, unit.key, cost, 0.0, 0) for unit, cost in zip(units, costs, strict=True)]

    def measure_cores(self, units, builder, finder, opset):
        return []


def test_what_cannot_be_measured_in_the_original_does_not_hide_what_can_be_saved_elsewhere(op, model_of):
    x = Var("x", TensorType("float32", (1000, 1000)))
    model, huge, tanh = model_of(Refusing()), op.Exp(x), op.Tanh(x)
    (unit,) = model.units([huge])
    model.settle([huge, op.Tanh(tanh)])
    assert model.cost([huge, op.Tanh(tanh)]) == pytest.approx(2 + rough_seconds(unit, op))
    assert model.cost([huge, tanh]) == pytest.approx(1 + rough_seconds(unit, op))
    assert model.cost([op.Sqrt(x), tanh]) == math.inf
    assert rough_seconds(unit, op) == pytest.approx(8e6 / 1e10)
