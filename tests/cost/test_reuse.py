"""Reading weights costs by how many other weights were read since: distances, times, and what they add to a graph."""

import math
from dataclasses import replace

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost import CostEntry, CostModel, CostTable
from taso_opt.cost.kernels.reuse import Read, Reading, ReadTimes, excess_seconds, reuse_distances
from taso_opt.cost.measuring.measure import READ_DISTANCES, read_key
from taso_opt.cost.measuring.surroundings import Surroundings
from taso_opt.onnx_io import read_model
from taso_opt.spec import load_specs

FAR = 1 << 40
BOUNDS = 1 << 20, 1 << 24
TIMES = ReadTimes(((1 << 20, 1e-6), (1 << 22, 3e-6), (1 << 24, 2e-6)))


def reads(text, size=10):
    """Reads of weights named by letters, packed for sums as well where the letter is a capital one."""
    kinds = {True: frozenset({"Add", "MatMul"}), False: frozenset({"MatMul"})}
    return [Read((Const(name.lower(), TensorType("float32", (size,))), kinds[name.isupper()]), size) for name in text]


def test_weights_read_once_lie_as_far_away_as_all_weights_together():
    assert reuse_distances(reads("abcd"), FAR) == [40, 40, 40, 40]


def test_a_distance_counts_different_weights_once_and_goes_round_from_one_run_to_the_next():
    assert reuse_distances(reads("abab"), FAR) == [20, 20, 20, 20]
    assert reuse_distances(reads("aabb"), FAR) == [20, 10, 20, 10]
    assert reuse_distances(reads("abbca"), FAR) == [10, 30, 10, 30, 30]


def test_weights_of_two_kinds_of_kernels_are_kept_twice():
    assert reuse_distances(reads("aAaA"), FAR) == [20, 20, 20, 20]
    assert reuse_distances(reads("aaaa"), FAR) == [10, 10, 10, 10]


def test_distances_beyond_the_farthest_are_not_told_apart():
    assert reuse_distances(reads("abcda"), 25) == [10, 25, 25, 25, 25]


def test_times_grow_with_the_distance_and_stay_the_same_beyond_the_ends():
    assert TIMES.per_byte(1) == TIMES.per_byte(1 << 20) == pytest.approx(1e-6)
    assert TIMES.per_byte(1 << 21) == pytest.approx(2e-6)
    assert TIMES.per_byte(1 << 30) == TIMES.per_byte(1 << 24) == pytest.approx(3e-6)  # never less than nearer by


def each(text, size, reach, seconds=1000.0):
    """A kernel of so many seconds for each letter, measured with so many bytes from one read to the next."""
    return [Reading([read], seconds, reach) for read in reads(text, size)]


def test_what_is_read_from_the_usual_distance_costs_nothing_more_and_measures_nothing():
    def unknown():
        raise AssertionError("nobody should ask")

    assert excess_seconds(each("ab", 1 << 20, 2 << 20), BOUNDS, unknown) == 0.0
    assert excess_seconds(each("ab", 1 << 10, 1 << 20), BOUNDS, unknown) == 0.0
    assert excess_seconds(each("ab", 1 << 10, 1 << 12), BOUNDS, unknown) == 0.0
    assert excess_seconds(each("abcdabcd", 1 << 25, 1 << 25), BOUNDS, unknown) == 0.0


def test_reads_that_took_no_time_that_could_be_measured_cost_nothing_more():
    reads = [Read("a", 100), Read("b", 900)]
    times = ReadTimes(((10, 0.0), (10_000, 0.0)))
    assert excess_seconds([Reading(reads, 1.0, 10)], (10, 10_000), lambda: times) == 0.0


def test_what_is_read_from_farther_away_costs_more_and_from_nearer_by_less():
    one, four = each("a", 1 << 20, 2 << 20), each("abcd", 1 << 20, 2 << 20)
    assert excess_seconds(one, BOUNDS, lambda: TIMES) == pytest.approx((1 << 20) * -1e-6)
    assert excess_seconds(four, BOUNDS, lambda: TIMES) == pytest.approx((1 << 22) * 1e-6)


def test_a_kernel_gets_no_shorter_than_if_it_did_nothing_but_read():
    short = each("a", 1 << 20, 2 << 20, seconds=1.0)
    assert excess_seconds(short, BOUNDS, lambda: TIMES) == pytest.approx(-0.5)
    together = each("aa", 1 << 20, 2 << 20, seconds=1.0)
    assert excess_seconds(together, BOUNDS, lambda: TIMES) == pytest.approx(-1.0)


def test_weights_larger_than_the_working_set_are_measured_as_far_away_as_they_are_large():
    surroundings = Surroundings(32 << 20)
    assert [surroundings.copies(mebibytes << 20) for mebibytes in (1, 12, 18, 24, 40)] == [32, 3, 2, 1, 1]


class DearFromAfar:
    """Says that every unit takes ten seconds, and weights a second more for each MiB read since."""

    place, machine, surroundings, reference_s, launches = "there", "reads", Surroundings(4 << 20), 1.0, False
    asked = 0

    def measure(self, units, builder, finder, opset):
        return [CostEntry(self.place, unit.key, 10.0, 0.0, 1) for unit in units]

    def measure_cores(self, units, builder, finder, opset):
        return []

    def reach(self, unit, builder, finder):
        return 4 << 20

    def measure_reads(self, builder, opset):
        self.asked += 1
        return [CostEntry(self.machine, read_key(one), float(one >> 20), 0.0, 1) for one in READ_DISTANCES]


def test_a_graph_with_weights_for_each_place_costs_more_than_one_that_shares_them(tmp_path):
    op = load_specs().builder()
    kind = TensorType("float32", (512, 512))  # 1 MiB

    def chain(*weights):
        row = Var("row", TensorType("float32", (1, 512)))
        for name in weights:
            row = op.MatMul(op.Relu(row), Const(name, kind))
        return [row]

    measurer = DearFromAfar()
    with CostTable(tmp_path / "costs.sqlite") as table:
        model = CostModel(op, table, measurer, opset=17)
        assert model.cost(chain(*"abcd")) == 80.0
        assert measurer.asked == 0
        assert model.cost(chain(*"abcdefgh")) == pytest.approx(160.0 + 8 * 4.0)
        assert model.cost(chain(*"aa")) == pytest.approx(40.0 - 2 * 3.0)
        again = DearFromAfar()
        assert CostModel(op, table, again, opset=17).cost(chain(*"aa")) == pytest.approx(34.0)
        assert (measurer.asked, again.asked) == (1, 0)


@pytest.mark.parametrize("backwards", [False, True])
def test_what_a_kernel_reads_does_not_hang_on_the_graphs_that_were_asked_for_before(tmp_path, backwards):
    op = load_specs().builder()
    product = op.MatMul(Var("row", TensorType("float32", (1, 512))), Const("w", TensorType("float32", (512, 512))))
    fused = op.Add(product, Const("b", TensorType("float32", (512,))))
    graphs = [(fused,), (fused, op.Neg(product))]
    with CostTable(tmp_path / "costs.sqlite") as table:
        alone = [CostModel(op, table, DearFromAfar(), opset=17).cost(graph) for graph in graphs]
        both = CostModel(op, table, DearFromAfar(), opset=17)
        order = list(enumerate(graphs))[:: -1 if backwards else 1]
        assert {at: both.cost(graph) for at, graph in order} == dict(enumerate(alone))


@pytest.mark.parametrize("failing", [READ_DISTANCES, READ_DISTANCES[-1:]])
def test_distances_that_cannot_be_measured_cost_nothing_and_are_asked_for_again(tmp_path, failing):
    class Failing(DearFromAfar):
        def measure_reads(self, builder, opset):
            entries = super().measure_reads(builder, opset)
            lost = [read_key(distance) for distance in failing]
            return [replace(entry, seconds=math.inf) if entry.unit in lost else entry for entry in entries]

    op, row = load_specs().builder(), Var("row", TensorType("float32", (1, 512)))
    for name in "abcdefgh":
        row = op.MatMul(op.Relu(row), Const(name, TensorType("float32", (512, 512))))
    with CostTable(tmp_path / "costs.sqlite") as table:
        assert 160.0 <= CostModel(op, table, Failing(), opset=17).cost([row]) < 193.0
        assert CostModel(op, table, DearFromAfar(), opset=17).cost([row]) == pytest.approx(160.0 + 8 * 4.0)


def test_the_kernels_of_a_graph_read_in_the_order_of_its_file(tmp_path):
    op = load_specs().builder()
    near, far = (Const(name, TensorType("float32", (512, 512))) for name in "vw")
    rows = [Var(f"row{number}", TensorType("float32", (1, 512))) for number in range(4)]
    products = [op.MatMul(row, weights) for row, weights in zip(rows, (near, far, near, far), strict=True)]

    def cost(*order):
        model = CostModel(op, table, DearFromAfar(), opset=17, in_order=lambda outputs: [products[at] for at in order])
        return model.cost(products)

    with CostTable(tmp_path / "costs.sqlite") as table:
        assert cost(0, 1, 2, 3) == pytest.approx(40.0 - 4 * 2.0)
        assert cost(0, 2, 1, 3) == pytest.approx(40.0 - 2 * 2.0 - 2 * 3.0)


def test_weights_that_two_kinds_of_kernels_read_are_kept_twice_at_run_time(tmp_path):
    op = load_specs().builder()
    weights, bias = Const("w", TensorType("float32", (512, 512))), Const("b", TensorType("float32", (512,)))
    rows = [Var(f"row{number}", TensorType("float32", (1, 512))) for number in range(2)]
    alike = [op.Relu(op.Add(op.MatMul(row, weights), bias)) for row in rows]
    unlike = [alike[0], op.MatMul(rows[1], weights)]
    with CostTable(tmp_path / "costs.sqlite") as table:
        assert CostModel(op, table, DearFromAfar(), opset=17).cost(alike) == pytest.approx(20.0 - 2 * 3.0)
        assert CostModel(op, table, DearFromAfar(), opset=17).cost(unlike) == pytest.approx(20.0 - 2 * 2.0)


def test_the_costs_of_a_model_are_for_the_order_of_its_file(tmp_path):
    """Where two weights are read in turn, but a walk from the outputs would meet both reads of each in a row."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,512] a, float[1,512] b) => (float[1,512] p, float[1,512] r, float[1,512] q, float[1,512] s) {
        p = MatMul(a, v)  q = MatMul(a, w)  r = MatMul(b, v)  s = MatMul(b, w)
    }"""
    proto, generator = parser.parse_model(text), np.random.default_rng(1)
    for name in "vw":
        value = generator.standard_normal((512, 512)).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(value, name))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    model = read_model(path, load_specs())
    with CostTable(tmp_path / "costs.sqlite") as table:
        of_file = CostModel.of_model(model, model.builder, table, DearFromAfar())
        of_walk = CostModel(model.builder, table, DearFromAfar(), model.opset)
        assert of_file.cost(model.graph.outputs) == pytest.approx(40.0 - 4 * 2.0)
        assert of_walk.cost(model.graph.outputs) == pytest.approx(40.0 - 2 * 2.0 - 2 * 3.0)
