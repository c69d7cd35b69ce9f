"""A convolution costs no more than what has something light beside it, and hardly less."""

import math
from dataclasses import replace

import pytest

from taso_opt.core.term import Const, Var
from taso_opt.cost import CostEntry, CostModel, CostTable
from taso_opt.cost.kernels.layout import form_key, split_form
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.cost.measuring.surroundings import NOWHERE
from taso_opt.cost.stems import Stems, consistent
from terms import tensor

WINDOWS = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 1}
CHANNELS = 8


@pytest.fixture(scope="module")
def finder(op):
    return UnitFinder(op)


def convolution(op, *weights):
    image, filters = tensor(Var, "x", 1, CHANNELS, 14, 14), tensor(Const, "w", CHANNELS, CHANNELS, 3, 3)
    return op.Conv(image, filters, *weights, **WINDOWS)


def unit_of(finder, term):
    (unit,) = finder.units([term])
    return unit


def biased(op):
    return convolution(op, tensor(Const, "b", CHANNELS))


def family(op, finder):
    """An activation of a convolution with a bias, and what it grows from, the smallest last."""
    return [unit_of(finder, term) for term in (op.Relu(biased(op)), biased(op), convolution(op))]


def keys(units):
    return [unit.key for unit in units]


def costs(*entries):
    return [CostEntry("here", key, seconds, 0.0, 5) for key, seconds in entries]


def test_a_convolution_is_measured_with_all_that_it_grows_from(op, finder):
    units, stems = family(op, finder), Stems(finder)
    assert keys(stems.with_stems(units[:1])) == keys(units)
    assert [(one.unit.key, one.stem.key) for one in stems.grown] == [
        (units[1].key, units[2].key),
        (units[0].key, units[1].key),
    ]
    assert all(0 < one.most_s < 1e-4 for one in stems.grown)


def test_what_may_be_a_kernel_of_its_own_takes_any_time(op):
    finder = UnitFinder(op, launches=True)
    stems = Stems(finder)
    stems.with_stems([unit_of(finder, biased(op))])
    assert [one.most_s for one in stems.grown] == [math.inf]


def product(op, rows):
    return op.MatMul(tensor(Var, "x", rows, 512), tensor(Const, "w", 512, 512))


def test_a_product_of_which_arithmetic_takes_the_time_is_measured_with_all_that_it_grows_from(op, finder):
    units = finder.units([op.Tanh(op.Add(product(op, 512), tensor(Var, "y", 512, 512)))])
    expected = [op.Add(product(op, 512), tensor(Var, "y", 512, 512)), product(op, 512)]
    assert keys(Stems(finder).with_stems(units)) == [units[0].key, *(unit_of(finder, term).key for term in expected)]


@pytest.mark.parametrize("spell", [lambda op: op.Relu(product(op, 1)), lambda op: op.Tanh(tensor(Var, "x", 512, 512))])
def test_what_waits_for_its_weights_or_computes_no_products_is_measured_alone(op, finder, spell):
    units = finder.units([spell(op)])
    assert keys(Stems(finder).with_stems(units)) == keys(units)


def test_a_product_that_was_measured_longer_than_what_grows_from_it_is_no_longer_unless_by_far(op, finder):
    plain, whole = (unit_of(finder, one) for one in (product(op, 512), op.Tanh(op.Add(product(op, 512), image(op)))))
    stems = Stems(finder)
    (_, summed, _) = stems.with_stems([whole])
    near = consistent(costs((whole.key, 5.8e-4), (summed.key, 5.6e-4), (plain.key, 6.6e-4)), stems.grown, {}, {})
    assert [entry.seconds for entry in near] == pytest.approx([6.1e-4, 6.1e-4, 6.1e-4])
    apart = costs((whole.key, 5.8e-4), (summed.key, 5.6e-4), (plain.key, 9e-4))
    assert consistent(apart, stems.grown, {}, {}) == apart


def image(op):
    return tensor(Var, "y", 512, 512)


def test_an_activation_that_takes_long_or_an_operand_that_is_read_has_no_upper_bound(op, finder):
    image = tensor(Var, "y", 1, CHANNELS, 14, 14)
    for whole in (op.Add(convolution(op), image), op.Tanh(convolution(op))):
        stems = Stems(finder)
        stems.with_stems([unit_of(finder, whole)])
        assert [one.most_s for one in stems.grown] == [math.inf]


def test_what_was_measured_together_agrees_on_the_convolution(op, finder):
    relu, biased, plain = units = family(op, finder)
    stems = Stems(finder)
    stems.with_stems(units)
    found = consistent(costs((relu.key, 7e-4), (biased.key, 8e-4), (plain.key, 9e-4)), stems.grown, {}, {})
    seconds = {entry.unit: entry.seconds for entry in found}
    assert seconds[plain.key] <= seconds[biased.key] <= seconds[relu.key]
    assert seconds[plain.key] == pytest.approx(8e-4, rel=0.02)
    assert seconds[relu.key] == pytest.approx(8e-4, rel=0.02)


def test_what_is_known_stays_and_bounds_what_is_measured_later(op, finder):
    relu, biased, plain = units = family(op, finder)
    stems, known = Stems(finder), {biased.key: 8e-4, plain.key: 7.9e-4}
    stems.with_stems(units)
    (low,) = consistent(costs((relu.key, 5e-4)), stems.grown, known, {})
    (high,) = consistent(costs((relu.key, 9e-4)), stems.grown, known, {})
    assert low.seconds == 8e-4 < high.seconds < 8.2e-4


def test_a_stem_that_is_measured_again_moves_what_grows_from_it(op, finder):
    relu, biased, plain = units = family(op, finder)
    stems, known = Stems(finder), {relu.key: 8e-4, biased.key: 8e-4, plain.key: 7.9e-4}
    stems.with_stems(units)
    found = consistent(costs((plain.key, 8.5e-4)), stems.grown, known, {})
    assert {entry.unit: entry.seconds for entry in found} == dict.fromkeys(keys(units), 8.5e-4)


def test_what_gives_another_layout_may_take_longer_and_no_less(op, finder):
    relu, biased, _ = units = family(op, finder)
    stems = Stems(finder)
    stems.with_stems(units)
    for seconds, expected in ((7e-4, 8e-4), (9e-4, 9e-4)):
        found = costs((form_key(relu, "b>p"), seconds), (form_key(biased, "b>b"), 8e-4))
        assert [entry.seconds for entry in consistent(found, stems.grown, {}, {})] == [expected, 8e-4]


def test_what_runs_in_blocks_is_not_compared_with_what_does_not(op, finder):
    relu, biased, _ = units = family(op, finder)
    stems = Stems(finder)
    stems.with_stems(units)
    found = costs((form_key(relu, "b>b"), 7e-4), (biased.key, 8e-4))
    assert consistent(found, stems.grown, {}, {}) == found


def test_a_sum_is_no_cheaper_than_its_convolution_though_it_reads_one_value_more(op, finder):
    plain = unit_of(finder, convolution(op))
    added = unit_of(finder, op.Add(convolution(op), tensor(Var, "y", 1, CHANNELS, 14, 14)))
    stems = Stems(finder)
    stems.with_stems([added])
    pairs = (form_key(added, "bb>b"), 7e-4), (form_key(plain, "b>b"), 8e-4)
    assert [entry.seconds for entry in consistent(costs(*pairs), stems.grown, {}, {})] == [8e-4, 8e-4]


class ShrinkingMeasurer:
    """Finds whatever comes first the dearest, and notes what it is asked."""

    place, machine, surroundings, reference_s = "nowhere", "here", NOWHERE, 1.0

    def __init__(self):
        self.seconds, self.asked = 1e-3, []

    def measure(self, units, builder, finder, opset):
        raise AssertionError("expected units that run on blocked layouts only")

    def measure_cores(self, units, builder, finder, opset):
        self.asked += keys(units)
        return [CostEntry(self.place, form_key(unit, "b>b"), self._next(), 0.0, 5) for unit in units]

    def _next(self):
        self.seconds *= 0.9
        return self.seconds


def test_a_model_knows_the_stems_of_what_it_has_measured(op, finder, tmp_path):
    relu, biased, plain = family(op, finder)
    measurer = ShrinkingMeasurer()
    with CostTable(tmp_path / "costs.sqlite") as table:
        model = CostModel(op, table, measurer, opset=17)
        model.learn([relu])
        assert measurer.asked == keys([relu, biased, plain])
        model.learn([biased, plain])
        assert len(measurer.asked) == 3
        raw = {split_form(entry.unit)[0]: entry.seconds for entry in table.entries()}
        assert raw[plain.key] < raw[biased.key] < raw[relu.key]
        seconds = {unit.key: model.known(replace(unit, key=form_key(unit, "b>b"))) for unit in (relu, biased, plain)}
    assert seconds[plain.key] <= seconds[biased.key] <= seconds[relu.key] < 1.05 * seconds[plain.key]
