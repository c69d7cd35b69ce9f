"""Measurements are kept as they were made, each under its number, and handed out as if they were made now."""

import math

from taso_opt.core.term import Const, Var
from taso_opt.cost import CostEntry, CostModel
from taso_opt.cost.kernels.layout import form_key
from taso_opt.cost.measuring.surroundings import NOWHERE
from taso_opt.cost.shelf import Shelf
from taso_opt.spec import load_specs
from terms import tensor


def seconds(entry):
    return None if entry is None else entry.seconds


def test_each_measurement_of_a_unit_is_found_by_its_number_and_by_where_it_ran(table):
    shelf = Shelf(table, "here")
    relu, between = "Relu(x)", "Relu(x) [b>b]"
    shelf.keep({"Relu(x)": 1}, [CostEntry("here", relu, 1.0, 0.0, 5)])
    shelf.keep({"Relu(x)": 2}, [CostEntry("here", relu, 2.0, 0.0, 5)])
    shelf.keep({"Relu(x)": 1}, [CostEntry("here", between, math.inf, 0.0, 5)])
    for found in (shelf, Shelf(table, "here")):
        assert [seconds(found.take("Relu(x)", False, time)) for time in (1, 2, 3)] == [1.0, 2.0, None]
        assert seconds(found.take("Relu(x)", True, 1)) == math.inf
        assert found.take("Relu(x)", True, 1).unit == between
        assert found.take("Relu(x)", True, 2) is None
    assert Shelf(table, "elsewhere").take("Relu(x)", False, 1) is None


def test_the_key_of_a_unit_with_several_results_is_not_taken_for_a_number(table):
    op = load_specs().builder()
    x = tensor(Var, "x", 8, 8)
    centred = op.Sub(x, op.ReduceMean(x, axes=(-1,)))
    outputs = [op.Mul(centred, centred), centred]
    measurer = Wavering()
    cost = CostModel(op, table, measurer, opset=17).cost(outputs)
    assert any(" #" in entry.unit for entry in table.entries())
    assert CostModel(op, table, measurer, opset=17).cost(outputs) == cost


class Wavering:
    """Finds every unit a little cheaper than the one before, runs none on plain values, and counts what it is asked."""

    place, machine, surroundings, reference_s = "nowhere", "here", NOWHERE, 1.0

    def __init__(self):
        self.asked = 0

    def measure(self, units, builder, finder, opset):
        return [CostEntry(self.place, unit.key, self._next(), 0.0, 5) for unit in units]

    def measure_cores(self, units, builder, finder, opset):
        return [CostEntry(self.place, form_key(unit, "b>b"), self._next(), 0.0, 5) for unit in units]

    def _next(self):
        self.asked += 1
        return 1e-3 * 0.97**self.asked


def test_a_later_run_sees_the_costs_of_the_first_one_as_they_changed_on_the_way(table):
    op = load_specs().builder()
    image, filters = tensor(Var, "x", 1, 64, 14, 14), tensor(Const, "w", 64, 64, 3, 3)
    plain = op.Conv(image, filters, strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1), group=1)
    graphs = [[op.Relu(plain)], [op.Tanh(plain)], [plain], [op.Relu(op.Relu(plain))]]

    def run(measurer):
        model, seen = CostModel(op, table, measurer, opset=17), []
        for outputs in graphs:
            seen += [model.cost(outputs), model.cost(graphs[0])]
            seen += [model.measure_again(outputs, graphs[0]), model.cost(outputs), model.cost(graphs[0])]
        return seen

    first, later = Wavering(), Wavering()
    seen = run(first)
    assert len(set(seen)) > 5, "costs change on the way"
    assert run(later) == seen
    assert (first.asked > 0, later.asked) == (True, 0)


def test_what_cannot_be_written_in_one_opset_is_measured_for_another(table):
    op = load_specs().builder()
    outputs = [op.Relu(tensor(Var, "x", 8, 8))]

    class Unwritten(Wavering):
        def measure(self, units, builder, finder, opset):
            return [CostEntry(self.place, unit.key, math.inf, 0.0, 0) for unit in units]

    assert CostModel(op, table, Unwritten(), opset=17).cost(outputs) == math.inf
    assert CostModel(op, table, Wavering(), opset=17).cost(outputs) == math.inf
    assert CostModel(op, table, Wavering(), opset=20).cost(outputs) < math.inf
