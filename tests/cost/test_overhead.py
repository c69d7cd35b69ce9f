"""What a run takes beside its kernels, and that costs of two runtimes never mix."""

import importlib.util

import onnx
import pytest

from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost import CostModel, CostTable, Measurer, spelling_keys
from taso_opt.cost.device import METHOD, this_device
from taso_opt.cost.kernels.units import SHAPED, UnitFinder
from taso_opt.cost.measuring.overhead import (
    MOST_COPIES,
    ONNXRUNTIME_OVERHEAD,
    Overhead,
    framed_input,
    framed_outputs,
    most_copies,
    overhead,
)
from taso_opt.errors import RuntimeFailure
from taso_opt.onnx_io import OwnSpelling
from taso_opt.runtime import OPENVINO, RunSettings, RuntimeInfo, RuntimeProcess, Timing, probe
from taso_opt.spec import load_specs

THERE = RunSettings(runtime=OPENVINO)
BUILDER = load_specs().builder()


class Answering:
    """Stands in for a process whose runs take 8 us, 2 us more for each output, 0.5 us for each input and each shape."""

    def request(self, message, timeout_s):
        results = {}
        for item in message.items:
            graph = onnx.load_from_string(item.model).graph
            shapes = sum(node.op_type == "Reshape" for node in graph.node)
            seconds = 8e-6 + 2e-6 * len(graph.output) + 5e-7 * (len(graph.input) + shapes)
            results[item.key] = Timing(seconds, 0.0, 9, seconds)
        return results


class Failing:
    """Stands in for a process that crashes at every request."""

    def request(self, message, timeout_s):
        raise RuntimeFailure("killed by SIGSEGV")


def test_what_is_beside_the_kernels_is_taken_off_and_never_more():
    found = Overhead(8e-6, 1e-6, 2e-6)
    assert found.without(4.8e-5, 4, (3, 2)) == pytest.approx(3e-6)
    assert found.without(1e-5, 4, (3, 2)) == 0.0
    assert ONNXRUNTIME_OVERHEAD.without(2.1e-6, 2, (9, 9)) == pytest.approx(5e-7)


def test_the_overhead_of_onnx_runtime_is_known_and_that_of_another_measured():
    assert overhead(Failing(), RunSettings(), BUILDER) is ONNXRUNTIME_OVERHEAD
    found = overhead(Answering(), THERE, BUILDER)
    assert (found.run_s, found.input_s, found.output_s) == pytest.approx((8e-6, 5e-7, 2e-6))
    assert overhead(Failing(), THERE, BUILDER) == Overhead(0.0)


def test_on_a_gpu_what_a_run_and_a_shape_take_is_measured_and_nothing_is_said_of_inputs():
    expected = Overhead(pytest.approx(8e-6), shape_s=pytest.approx(5e-7))
    assert overhead(Answering(), RunSettings("cuda"), BUILDER) == expected
    measurer = Measurer(Answering(), RunSettings("cuda"), RuntimeInfo("onnxruntime-gpu", "1.31.1", ()))
    finder = UnitFinder(BUILDER, launches=measurer.launches)
    units = finder.units([BUILDER.Reshape(Var("x", TensorType("float32", (4, 6))), shape=(24,))])
    (entry,) = measurer.measure(units, BUILDER, finder, 17)
    assert (entry.unit, entry.seconds) == (SHAPED, pytest.approx(5e-7))


def test_a_model_has_as_many_ports_as_where_the_overhead_was_measured():
    assert [most_copies(THERE, ports) for ports in ((1, 1), (8, 1), (1, 9), (99, 1))] == [MOST_COPIES, 4, 3, 1]
    assert most_copies(RunSettings(), (8, 1)) == MOST_COPIES


def test_small_values_are_framed_and_large_ones_are_not():
    small, large = (Var("x", TensorType("float32", (2, columns))) for columns in (100, 100_000))
    assert framed_input(BUILDER, small) == BUILDER.Neg(small)
    assert framed_input(BUILDER, large) == large
    assert framed_outputs(BUILDER, BUILDER.Less(small, small)) == [BUILDER.Less(small, small)]
    both = BUILDER.Split(large, axis=-1, sizes=(10, 99_990))
    first, second = framed_outputs(BUILDER, both)
    assert (first, second) == (BUILDER.Relu(BUILDER.item(both, 0)), BUILDER.item(both, 1))


def test_the_key_of_a_device_names_the_runtime_that_measures_and_its_version():
    here = RuntimeInfo("onnxruntime", "1.31.1", ("CPUExecutionProvider",))
    there = RuntimeInfo("onnxruntime", "1.31.1", ("CPUExecutionProvider",), timed_by="openvino 2026.4.1")
    assert this_device(RunSettings(), here).key.endswith(f" | cpu | 1 | onnxruntime 1.31.1 | {METHOD}")
    assert this_device(THERE, there).key.endswith(f" | cpu | 1 | openvino 2026.4.1 | {METHOD}")


def test_the_key_of_a_gpu_names_it_beside_the_processor_and_the_options_of_its_provider():
    info = RuntimeInfo("onnxruntime-gpu", "1.31.1", ("CUDAExecutionProvider",), gpu="some GPU, driver 1.0")
    key = this_device(RunSettings("cuda", options=(("prefer_nhwc", "1"),)), info).key
    assert key.startswith("some GPU, driver 1.0 beside ") and " | cuda prefer_nhwc=1 | 1 | onnxruntime-gpu" in key
    assert "some GPU" not in this_device(RunSettings(), info).key


class Counting(Answering):
    """Remembers how many copies of each it was asked to time."""

    def __init__(self):
        self.copies = {}

    def request(self, message, timeout_s):
        self.copies.update({item.key: item.copies for item in message.items})
        return super().request(message, timeout_s)


@pytest.mark.parametrize(("side", "copies"), [(512, 4), (1024, 4), (2048, 2), (4096, 1)])
def test_a_node_is_timed_in_a_few_copies_unless_its_weights_fill_a_cache(side, copies):
    row, weights = (TensorType("float32", shape) for shape in ((1, side), (side, side)))
    node = OwnSpelling("Gemm", b"", b"", (weights,), (row, row))
    counting = Counting()
    Measurer(counting, RunSettings(), RuntimeInfo("onnxruntime", "1.32.0", ())).measure_spellings([node], BUILDER)
    assert counting.copies == dict.fromkeys(spelling_keys(node), copies)


def test_kernels_on_a_gpu_are_measured_in_more_copies_unless_they_are_large():
    products = [
        BUILDER.MatMul(Var("x", TensorType("float32", (256, size))), Const("w", TensorType("float32", (size, size))))
        for size in (512, 4096)
    ]
    for device, expected in (("cpu", [1, 1]), ("cuda", [8, 1])):
        counting = Counting()
        measurer = Measurer(counting, RunSettings(device), RuntimeInfo("onnxruntime", "1.32.0", ()))
        finder = UnitFinder(BUILDER, launches=measurer.launches)
        units = [unit for product in products for unit in finder.units([product])]
        measurer.measure(units, BUILDER, finder, 17)
        assert [counting.copies[unit.key] for unit in units] == expected


@pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed")
def test_openvino_finds_a_large_product_dearer_and_a_convolution_runs_on_plain_values(tmp_path):
    large, small = (
        BUILDER.MatMul(
            Var(f"x{size}", TensorType("float32", (64, size))), Const("w", TensorType("float32", (size, size)))
        )
        for size in (512, 32)
    )
    image, kernel = (TensorType("float32", shape) for shape in ((1, 8, 16, 16), (8, 8, 3, 3)))
    convolution = BUILDER.Conv(
        Var("image", image), Const("k", kernel), strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1), group=1
    )
    with RuntimeProcess() as process, CostTable(tmp_path / "costs.sqlite") as table:
        measurer = Measurer(process, THERE, probe(process, OPENVINO))
        model = CostModel(BUILDER, table, measurer, opset=17)
        assert 0 <= model.cost([small]) < model.cost([large]) < 1
        assert 0 < model.cost([convolution]) < 1
        (form,) = (entry for entry in table.entries() if entry.unit.startswith("Conv") and "[" in entry.unit[-3:])
        assert form.unit.endswith(" []")
        assert all(" | openvino " in entry.device for entry in table.entries())
