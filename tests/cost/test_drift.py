"""Costs are stated for the speed at which the canary took what it took when the table of costs was begun."""

import math

import onnxruntime
import pytest

from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.cost import CostModel, Measurer
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.cost.measuring.drift import CANARY, at_reference_speed, canary
from taso_opt.onnx_io import standalone_model
from taso_opt.runtime import Failed, MeasureItem, MeasurePlan, RunSettings, RuntimeProcess, Timing, measure_many, probe
from taso_opt.spec import load_specs

BUILDER = load_specs().builder()
X = Var("x", TensorType("float32", (100, 100)))


class Drifting:
    """Stands in for a process on a machine that becomes slower: 1 ms for a run, `slowness` times as much later on."""

    slowness = 1.0

    def request(self, message, timeout_s):
        seconds = 1e-3 * self.slowness
        beside_s = None if message.beside is None else seconds
        return {item.key: Timing(seconds, 0.0, 9, seconds, beside_s) for item in message.items}


@pytest.fixture(scope="module")
def info():
    with RuntimeProcess() as process:
        return probe(process)


def test_costs_do_not_depend_on_how_fast_the_machine_is_while_they_are_measured(table, info):
    process = Drifting()
    model = CostModel(BUILDER, table, Measurer(process, RunSettings(), info), opset=17)
    before = model.cost([BUILDER.Tanh(X)])
    process.slowness = 1.5
    after = model.cost([BUILDER.Sqrt(X)])
    assert before == pytest.approx(after, rel=0.01)
    (unit,) = model.units([BUILDER.Tanh(X)])
    measurer = Measurer(process, RunSettings(), info)  # which nobody told the reference
    (disturbed,) = measurer.measure([unit], BUILDER, UnitFinder(BUILDER), 17)
    assert disturbed.seconds > 1.4 * before


def test_a_later_run_goes_on_at_the_speed_at_which_the_table_was_begun(table, info):
    process = Drifting()
    first = CostModel(BUILDER, table, Measurer(process, RunSettings(), info), opset=17)
    before = first.cost([BUILDER.Tanh(X)])
    process.slowness = 0.7
    later = CostModel(BUILDER, table, Measurer(process, RunSettings(), info), opset=17)
    assert later.cost([BUILDER.Sqrt(X)]) == pytest.approx(before, rel=0.01)
    assert [entry.seconds for entry in table.entries() if entry.unit == CANARY] == [1e-3]


@pytest.mark.parametrize("reference_s", [None, math.inf, 1e-4, 1e-2])
def test_a_time_stays_as_it_is_where_the_canary_says_nothing_or_cannot_be_believed(reference_s):
    assert at_reference_speed(5e-3, Timing(5e-3, 0.0, 9, 5e-3, beside_s=1e-3), reference_s) == 5e-3


def test_a_time_stays_as_it_is_without_a_canary_beside_it():
    assert at_reference_speed(5e-3, Timing(5e-3, 0.0, 9, 5e-3), 1e-3) == 5e-3
    assert at_reference_speed(5e-3, Timing(5e-3, 0.0, 9, 5e-3, beside_s=1.25e-3), 1e-3) == pytest.approx(4e-3, rel=0.01)


def test_a_small_difference_is_the_canarys_own_noise():
    timing = Timing(5e-3, 0.0, 9, 5e-3, beside_s=1.02e-3)
    assert 4.95e-3 < at_reference_speed(5e-3, timing, 1e-3) < 5e-3


def test_what_waits_for_its_weights_follows_the_canary_in_part():
    timing = Timing(5e-3, 0.0, 9, 5e-3, beside_s=1.44e-3)
    assert at_reference_speed(5e-3, timing, 1e-3, waits=True) == pytest.approx(5e-3 / 1.44**0.4, rel=0.01)


def test_the_canary_is_timed_in_every_batch_and_is_no_result_of_its_own():
    beside, relu = canary(BUILDER), standalone_model(BUILDER, [BUILDER.Relu(X)], [X], opset=17, ir_version=8)
    assert len(onnxruntime.InferenceSession(beside.model, providers=["CPUExecutionProvider"]).get_outputs()) == 4
    items = [MeasureItem("relu", relu), MeasureItem("junk", b"junk")]
    with RuntimeProcess() as process:
        found = measure_many(process, items, plan=MeasurePlan(rounds=3), beside=beside)
    assert list(found) == ["relu", "junk"]
    assert isinstance(found["relu"], Timing)
    assert found["relu"].beside_s > found["relu"].quiet_s > 0
    assert isinstance(found["junk"], Failed)
