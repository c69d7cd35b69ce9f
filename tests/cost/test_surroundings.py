"""As many copies of a kernel are measured at once as move what a run moves between two uses of the same memory."""

from itertools import product
from math import ceil

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost import Measurer
from taso_opt.cost.kernels.layout import conversion_key
from taso_opt.cost.kernels.units import Unit, UnitFinder
from taso_opt.cost.measuring.overhead import MOST_COPIES
from taso_opt.cost.measuring.surroundings import Surroundings, distance, turns_of
from taso_opt.onnx_io import BLOCKED, PLAIN, read_model
from taso_opt.runtime import Absent, RunSettings, RuntimeInfo, Timing
from taso_opt.spec import load_specs

MIB = 1 << 20
INFO = RuntimeInfo("onnxruntime", "1.32.0", ("CPUExecutionProvider",))


def tensor(kind, *shape):
    return kind("xw"[kind is Const], TensorType("float32", shape))


@pytest.fixture
def asked(monkeypatch):
    """What the runtime was asked to time, by the key of the kernel."""
    items = {}

    def heard(process, batch, run, plan, beside=None):
        items.update({item.key: item for item in batch})
        return {item.key: Absent() for item in batch}

    monkeypatch.setattr("taso_opt.cost.measuring.steady.measure_many", heard)
    monkeypatch.setattr("taso_opt.cost.measuring.overhead.measure_many", lambda *asked: {})
    return items


def measurer(buffers=MIB, weights=MIB, turns=1):
    return Measurer(None, RunSettings(), INFO, Surroundings(weights, buffers, turns))


@pytest.mark.parametrize(
    ("passing", "expected"),
    [(0, MIB), (MIB, MIB), (2 * MIB + 1, 2 * MIB), (3 * MIB + 1, 4 * MIB), (5 * MIB, 4 * MIB), (1 << 40, 32 * MIB)],
)
def test_what_passes_is_rounded_to_few_sizes_within_bounds(passing, expected):
    assert distance(passing) == expected


def test_a_kernel_moves_what_it_reads_and_gives_and_three_of_them_lie_between(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[600, 1024] x) => (float[600, 1024] z) { y = Relu(x) z = Softmax<axis = -1>(y) }"""
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    model = read_model(path, load_specs(), {})
    around = Surroundings.of_model(model, load_specs().builder(model.bindings))
    assert around == Surroundings(weights=MIB, buffers=16 * MIB)  # three times 4.7 MiB is 14


@pytest.mark.parametrize(("scores", "weights"), [("Neg(rows)", MIB), ("MatMul(rows, turned)", 6 * MIB)])
def test_of_a_table_little_is_read_unless_a_product_reads_it_too(scores, weights, tmp_path):
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    g (int64[1] word) => (float[N, M] z) {{ rows = Gather(table, word) turned = Transpose(table) z = {scores} }}"""
    proto = parser.parse_model(text)
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((3072, 512), np.float32), "table"))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    model = read_model(path, load_specs(), {})
    around = Surroundings.of_model(model, load_specs().builder(model.bindings))
    assert around.weights == weights


@pytest.mark.parametrize(("steps", "turns"), [(1, 1), (3, 4), (5, 4), (6, 8), (40, 16)])
def test_weights_that_are_shared_over_time_are_read_in_turns(steps, turns):
    op = load_specs().builder()
    row = tensor(Var, 1, 512)
    for _ in range(steps):
        row = op.Tanh(op.MatMul(op.Sigmoid(op.MatMul(row, tensor(Const, 512, 256))), tensor(Const, 256, 512)))
    finder = UnitFinder(op)
    assert turns_of(finder.units([row]), op, finder) == turns


def test_a_model_whose_kernels_wait_for_no_weights_reads_them_in_one_turn():
    op = load_specs().builder()
    finder = UnitFinder(op)
    assert turns_of(finder.units([op.Tanh(tensor(Var, 1, 512))]), op, finder) == 1


def test_costs_hold_for_what_lies_between():
    places = {measurer(*around).place for around in product((MIB, 4 * MIB), (MIB, 4 * MIB), (1, 8))}
    assert len(places) == 8


def test_kernels_that_wait_for_weights_are_measured_in_as_many_turns_until_so_many_are_read(asked):
    op = load_specs().builder()
    (waits,) = UnitFinder(op).units([op.MatMul(tensor(Var, 1, 512), tensor(Const, 512, 512))])
    (computes,) = UnitFinder(op).units([op.MatMul(tensor(Var, 160, 512), tensor(Const, 512, 512))])
    for weights, turns in ((2 * MIB, 8), (4 * MIB, 8), (16 * MIB, 2), (32 * MIB, 1)):
        measurer(MIB, weights, 8).measure([waits, computes], op, UnitFinder(op), 17)
        item = asked[waits.key]
        assert (item.turns, item.copies, item.weight_bytes) == (turns, weights // MIB, weights)
        assert item.value_bytes == item.turns * item.copies * 4 * (512 + 512)
        assert asked[computes.key].turns == 1


def test_the_time_of_all_turns_is_shared_among_them(monkeypatch):
    op = load_specs().builder()
    (unit,) = UnitFinder(op).units([op.MatMul(tensor(Var, 1, 512), tensor(Const, 512, 512))])

    def timed(process, batch, run, plan, beside=None):
        return {item.key: Timing(1.0, 0.1, 5, 1.0) for item in batch}

    monkeypatch.setattr("taso_opt.cost.measuring.steady.measure_many", timed)
    (entry,) = measurer(MIB, 2 * MIB, 8).measure([unit], op, UnitFinder(op), 17)
    assert entry.seconds == pytest.approx(1.0 / 16, rel=1e-3) and entry.spread == pytest.approx(0.1 / 16)


def test_what_a_kernel_gives_goes_to_memory_that_was_used_a_while_ago(asked):
    op = load_specs().builder()
    pieces = op.Split(tensor(Var, 1, 48, 32, 32), axis=-3, sizes=(24, 24))
    (unit,) = UnitFinder(op).units([op.item(pieces, 0), op.item(pieces, 1)])
    moved = 2 * 4 * 48 * 32 * 32
    for buffers in (MIB, 4 * MIB, 5 * MIB):
        measurer(buffers).measure([unit], op, UnitFinder(op), 17)
        assert asked[unit.key].copies == ceil(buffers / moved) > 1


def test_a_product_of_few_rows_waits_for_its_weights_and_one_of_many_does_not(asked):
    op = load_specs().builder()
    for rows, copies in ((64, 8), (160, 1)):
        (unit,) = UnitFinder(op).units([op.MatMul(tensor(Var, rows, 512), tensor(Const, 512, 512))])
        measurer(MIB, weights=8 * MIB).measure([unit], op, UnitFinder(op), 17)
        assert asked[unit.key].copies == copies


def test_what_is_computed_element_by_element_is_written_over_its_operand(asked):
    op = load_specs().builder()
    (unit,) = UnitFinder(op).units([op.Sigmoid(op.Relu(tensor(Var, 1, 64, 32, 32)))])[:1]
    measurer(16 * MIB).measure([unit], op, UnitFinder(op), 17)
    assert asked[unit.key].copies == 1


def test_a_product_that_computes_longer_than_it_waits_is_measured_once(asked):
    op = load_specs().builder()
    (unit,) = UnitFinder(op).units([op.MatMul(tensor(Var, 512, 512), op.Neg(tensor(Var, 512, 512)))])[-1:]
    measurer(32 * MIB).measure([unit], op, UnitFinder(op), 17)
    assert list(asked) == [unit.key] and asked[unit.key].copies == 1


@pytest.mark.parametrize("layout", [BLOCKED, PLAIN])
def test_conversions_of_layouts_lie_as_far_apart(asked, layout):
    op, image = load_specs().builder(), tensor(Var, 1, 32, 64, 64)
    unit = Unit(conversion_key(op.type(image), layout), (), frozenset(), (image,))
    for buffers, copies in ((MIB, 1), (4 * MIB, 4), (5 * MIB, 5)):
        measurer(buffers).measure([unit], op, UnitFinder(op), 17)
        assert asked[unit.key].copies == copies


def test_what_was_read_between_two_reads_of_weights_is_what_the_copies_of_a_kernel_have(asked):
    op = load_specs().builder()
    for side, mebibytes in ((512, 32), (128, 2)):
        (unit,) = UnitFinder(op).units([op.MatMul(tensor(Var, 1, side), tensor(Const, side, side))])
        measuring = measurer(weights=32 * MIB)
        measuring.measure([unit], op, UnitFinder(op), 17)
        assert measuring.reach(unit, op, UnitFinder(op)) == asked[unit.key].weight_bytes == mebibytes * MIB


@pytest.mark.parametrize(("pixels", "copies"), [(32, 12), (512, 5), (1024, 1)])
def test_sums_of_convolutions_stand_in_a_row_as_long_as_that_is_not_too_large(asked, pixels, copies):
    op = load_specs().builder()
    image, other = (Var(name, TensorType("float32", (1, 32, pixels, pixels))) for name in "xy")
    attributes = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1), "group": 1}
    (unit,) = UnitFinder(op).units([op.Add(op.Conv(image, tensor(Const, 32, 32, 1, 1), **attributes), other)])
    measurer().measure_cores([unit], op, UnitFinder(op), 17)
    assert asked[unit.key].copies == copies


def test_a_table_is_copied_no_more_often_than_there_is_room_for(asked):
    op = load_specs().builder()
    places = Var("places", TensorType("int64", (1,)))
    for rows, copies in ((30_000, 5), (300_000, 1)):
        (unit,) = UnitFinder(op).units([op.Gather(tensor(Const, rows, 768), places, axis=-2)])
        measurer().measure([unit], op, UnitFinder(op), 17)
        assert asked[unit.key].copies == copies


def test_where_weights_are_not_read_in_turns_costs_do_not_hang_on_how_many_a_model_has():
    for run, count in ((RunSettings(), 2), (RunSettings(runtime="openvino"), 1), (RunSettings(device="cuda"), 1)):
        places = {Measurer(None, run, INFO, Surroundings(turns=turns)).place for turns in (1, 16)}
        assert len(places) == count


def test_there_are_only_so_many_copies(asked):
    op, image = load_specs().builder(), tensor(Var, 1, 8, 4, 4)
    unit = Unit(conversion_key(op.type(image), PLAIN), (), frozenset(), (image,))
    measurer(32 * MIB).measure([unit], op, UnitFinder(op), 17)
    assert asked[unit.key].copies == MOST_COPIES


def test_a_batch_knows_what_all_copies_of_a_kernel_take(asked):
    op, image = load_specs().builder(), tensor(Var, 1, 32, 64, 64)
    (unit,) = UnitFinder(op).units([op.MatMul(tensor(Var, 64, 512), tensor(Const, 512, 256))])
    turned = Unit(conversion_key(op.type(image), BLOCKED), (), frozenset(), (image,))
    measurer(4 * MIB, weights=2 * MIB).measure([unit, turned], op, UnitFinder(op), 17)
    one, conversion = asked[unit.key], asked[turned.key]
    assert (one.copies, one.weight_bytes, one.value_bytes) == (4, 2 * MIB, 4 * 4 * 64 * (512 + 256))
    assert (conversion.copies, conversion.weight_bytes, conversion.value_bytes) == (4, 0, 4 * MIB)
