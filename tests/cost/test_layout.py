"""Which values are blocked, and what conversions that takes: by made-up forms, and by those of the runtime."""

from collections import Counter

import pytest

from taso_opt.core.term import OPAQUE, Apply, Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost import Around, CostEntry, CostModel, CostTable, Layouts, Measurer
from taso_opt.cost.kernels.layout import NOTHING, form_key, lay_out, split_form
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.onnx_io import BLOCKED, PLAIN
from taso_opt.runtime import RunSettings, RuntimeInfo, RuntimeProcess, probe
from taso_opt.search.neighbourhood import Neighbourhood

SAME = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 1}
ON_BLOCKS = {"Conv", "Sqrt", "Add"}


def image(name, channels=32):
    return Var(name, TensorType("float32", (1, channels, 8, 8)))


def conv(op, x, name):
    return op.Conv(x, Const(name, TensorType("float32", (32, 32, 3, 3))), **SAME)


def form_of(unit):
    is_blocked = any(member.operator in ON_BLOCKS for member in unit.members)
    return "b" * len(unit.inputs) + ">b" if is_blocked else ""


def laid_out(op, outputs, boundary=(), around=NOTHING, form_of=form_of):
    finder = UnitFinder(op)
    units, others = finder.units(outputs, boundary), finder.uncosted(outputs, boundary)
    found, layouts = lay_out(units, outputs, others, around, form_of, op.types)
    return Counter(unit.key.partition("(")[0] for unit in found), layouts


def wanted_plain(*outputs):
    return Around(wanted=frozenset((output, "p") for output in outputs))


def test_neighbouring_convolutions_need_no_conversion_between_them(op):
    last = conv(op, conv(op, image("x"), "v"), "w")
    kernels, layouts = laid_out(op, [last], around=wanted_plain(last))
    assert kernels == {"Conv": 2, "ReorderInput": 1, "ReorderOutput": 1}
    assert last in layouts.blocked


def test_what_cannot_read_blocks_gets_one_plain_copy_however_often_it_is_read(op):
    middle = conv(op, image("x"), "v")
    read_twice = op.Exp(middle), op.Exp(op.Add(middle, middle))
    kernels, layouts = laid_out(op, read_twice, around=wanted_plain(*read_twice))
    assert kernels == {"Conv": 1, "Exp": 2, "Add": 1, "ReorderInput": 1, "ReorderOutput": 2}
    assert set(layouts.blocked) == {middle, op.Add(middle, middle)}


def test_light_operators_stay_in_the_layout_of_all_their_operands(op):
    x, middle = image("x"), conv(op, image("x"), "v")
    both, mixed = op.Add(middle, op.Sqrt(middle)), op.Add(middle, op.Sqrt(x))
    _, layouts = laid_out(op, [both, mixed])
    assert both in layouts.blocked and mixed not in layouts.blocked and op.Sqrt(x) not in layouts.blocked


def test_an_operator_that_is_not_known_keeps_the_layout_of_its_only_image(op):
    middle = conv(op, image("x"), "v")
    scale = Const("scale", TensorType("float32", (32,)))
    kept = Apply(OPAQUE, (middle, scale), (("node", 0), ("types", (TensorType("float32", (1, 32, 8, 8)),))))
    pooled = Apply(OPAQUE, (middle,), (("node", 1), ("types", (TensorType("float32", (1, 5)),))))
    last = conv(op, kept, "w")
    kernels, layouts = laid_out(op, [last, pooled])
    assert kernels == {"Conv": 2, "ReorderInput": 1, "ReorderOutput": 1}
    assert kept in layouts.blocked and pooled not in layouts.blocked


def test_a_change_is_priced_with_the_conversions_that_it_brings_and_saves(op):
    """A function that needs plain values between two convolutions, taken away and put back."""
    first = conv(op, image("x"), "v")
    plain, blocked = conv(op, op.Exp(first), "w"), conv(op, op.Sqrt(first), "w")
    for outputs, old, new, before, after in (
        ((plain,), op.Exp(first), op.Sqrt(first), 2, 0),
        ((blocked,), op.Sqrt(first), op.Exp(first), 0, 2),
    ):
        _, layouts = laid_out(op, outputs, around=wanted_plain(*outputs))
        here = Neighbourhood(outputs, (), op.rebuild, layouts.with_outputs(outputs))
        change = here.local_change((), ((old, new),))
        for side, expected in ((change.removed, before), (change.added, after)):
            kernels, _ = laid_out(op, side, change.kept, change.around)
            assert kernels["ReorderInput"] + kernels["ReorderOutput"] == expected


def test_a_conversion_that_somebody_else_needs_anyway_is_free(op):
    first = conv(op, image("x"), "v")
    outputs = (op.Exp(first), conv(op, op.Exp(op.Exp(first)), "w"))
    _, layouts = laid_out(op, outputs, around=wanted_plain(*outputs))
    here = Neighbourhood(outputs, (), op.rebuild, layouts.with_outputs(outputs))
    change = here.local_change((), ((op.Exp(op.Exp(first)), op.Exp(op.Sqrt(first))),))
    assert laid_out(op, change.removed, change.kept, change.around)[0]["ReorderOutput"] == 0


def test_a_key_says_its_form(op):
    (unit,) = UnitFinder(op).units([op.Exp(image("x"))])
    assert split_form(form_key(unit, "bp>b")) == (unit.key, "bp>b")
    assert split_form(form_key(unit, "")) == (unit.key, "")
    assert split_form(unit.key) is None


class FormsMeasurer:
    """Convolutions run on blocks for one second; everything alone, conversions too, takes ten."""

    place, machine, reference_s = "nowhere", "here", 1.0

    def measure(self, units, builder, finder, opset):
        return [CostEntry(self.place, unit.key, 10.0, 0.0, 1) for unit in units]

    def measure_cores(self, units, builder, finder, opset):
        return [CostEntry(self.place, form_key(unit, form_of(unit)), 1.0, 0.0, 1) for unit in units]


def test_a_network_costs_its_kernels_and_its_conversions(op, tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        model = CostModel(op, table, FormsMeasurer(), opset=17)
        assert model.cost([conv(op, op.Sqrt(conv(op, image("x"), "v")), "w")]) == 3 * 1.0 + 2 * 10.0
        assert model.cost([conv(op, op.Exp(conv(op, image("x"), "v")), "w")]) == 2 * 1.0 + 10.0 + 4 * 10.0
        matrix = Var("m", TensorType("float32", (4, 4)))
        assert model.cost([op.Exp(matrix)]) == 10.0
    with CostTable(tmp_path / "costs.sqlite") as table:
        assert CostModel(op, table, NoMeasurer(), opset=17).cost([conv(op, conv(op, image("x"), "v"), "w")]) == 22.0


class NoMeasurer:
    """Measures nothing: all is in the table."""

    place, measure, measure_cores = "nowhere", None, None


def test_the_runtime_says_which_units_run_on_blocks(op):
    narrow = Const("n", TensorType("float32", (32, 3, 3, 3)))
    units = UnitFinder(op).units(
        [
            op.Relu(op.Add(conv(op, image("x"), "w"), image("y"))),
            op.Conv(image("z", 3), narrow, **SAME),
            op.Split(image("x"), axis=-3, sizes=(16, 16)),
            op.Concat(op.Erf(image("x")), op.Exp(image("y")), axis=-3),
        ]
    )
    with RuntimeProcess() as process:
        measurer = Measurer(process, RunSettings(), probe(process))
        entries = measurer.measure_cores([unit for unit in units if "Split" not in unit.key], op, UnitFinder(op), 17)
    forms = {key.partition("(")[0]: form for key, form in (split_form(entry.unit) for entry in entries)}
    timed = {entry.unit.partition("(")[0]: entry.seconds for entry in entries if not entry.unit.endswith("[]")}
    if not any(forms.values()):
        pytest.skip("the runtime has no blocked convolutions for this processor")
    assert forms["Relu"] == "bb>b"
    assert forms["Conv"] == "p>b"
    assert all(0 < seconds < 1 for seconds in timed.values())


def test_no_blocked_layout_is_looked_for_on_another_device(op):
    info = RuntimeInfo("onnxruntime-gpu", "1.31.1", ("CUDAExecutionProvider", "CPUExecutionProvider"))
    measurer = Measurer(None, RunSettings(device="cuda"), info)
    (entry,) = measurer.measure_cores(UnitFinder(op).units([conv(op, image("x"), "w")]), op, UnitFinder(op), 17)
    assert split_form(entry.unit)[1] == "" and entry.seconds == float("inf")


def test_what_is_read_in_the_other_layout_is_converted_but_outputs_of_the_graph_are_not():
    x, y, z = map(image, "xyz")
    readers = {x: {y: BLOCKED, z: PLAIN}, y: {z: PLAIN}, z: {None: PLAIN, x: BLOCKED}}
    assert Layouts(frozenset({x, z}), readers).converted == {x}
    assert Layouts(frozenset(), readers).converted == {x, z}
