"""Parts of models, as the runtime executes them."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from taso_opt.errors import RuntimeFailure
from taso_opt.onnx_io import FROM_BLOCKED, TO_BLOCKED, conversion_model
from taso_opt.runtime import (
    CORE,
    FUSED,
    OPENVINO,
    WHOLE,
    Absent,
    MeasureItem,
    MeasurePlan,
    RunSettings,
    Timing,
    measure_many,
)
from taso_opt.runtime.child.engine import bound_runs
from taso_opt.runtime.child.parts import part_of

IMAGE = [1, 32, 8, 8]
GELU = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,64] x) => (float[4,64] y)
<float three = {3}, float share = {0.044715}, float factor = {0.7978846}, float one = {1}, float half = {0.5}> {
  cube = Pow(x, three)  more = Mul(cube, share)  sum = Add(x, more)  scaled = Mul(sum, factor)
  bent = Tanh(scaled)  up = Add(bent, one)  halved = Mul(x, half)  y = Mul(halved, up) }"""


def convolved(weights: bool, added: bool = False, channels: int = 32) -> bytes:
    """The exponential of the activated convolution of an image, or the sum of both; without weights it is hollow."""
    filters = numpy_helper.from_array(np.full((channels, channels, 3, 3), 0.01, np.float32), "w")
    if not weights:
        filters.ClearField("raw_data")
    convolution = helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1])
    activated = [helper.make_node("Relu", ["c"], ["r"]), helper.make_node("Exp", ["r"], ["y"])]
    nodes = [convolution, *([helper.make_node("Add", ["c", "z"], ["y"])] if added else activated)]
    image = [1, channels, 8, 8]
    x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, image) for name in "xyz")
    graph = helper.make_graph(nodes, "convolved", [x, z] if added else [x], [y], [filters])
    opsets = [helper.make_opsetid("", 13)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def part(model: bytes, path, name: str = WHOLE, **settings: int):
    return part_of(MeasureItem("it", model, part=name, **settings), "all", RunSettings(), path)


def has_blocked_convolutions(path) -> bool:
    found = part(conversion_model(IMAGE, True), path, TO_BLOCKED)
    return found is not None


def test_a_complete_model_is_run_as_it_is(tmp_path):
    model = convolved(weights=True)
    found = part(model, tmp_path / "lowered.onnx")
    assert found is not None and found.model is model and found.optimization == "all"


def test_a_hollow_model_gets_its_weights(tmp_path):
    found = part(convolved(weights=False), tmp_path / "lowered.onnx", weight_bytes=1)
    assert found is not None
    weights = numpy_helper.to_array(ModelProto.FromString(found.model).graph.initializer[0])
    assert weights.shape == (32, 32, 3, 3) and np.unique(weights).size > 1000


def test_each_copy_of_a_hollow_model_gets_weights_of_its_own(tmp_path):
    found = part(convolved(weights=False), tmp_path / "lowered.onnx", copies=3, weight_bytes=3)
    assert found is not None
    graph = ModelProto.FromString(found.model).graph
    assert (len(graph.input), len(graph.output), len(graph.node)) == (3, 3, 9)
    assert len({tensor.raw_data for tensor in graph.initializer}) == 3


@pytest.mark.parametrize("name", [WHOLE, FUSED])
def test_turns_share_the_weights_of_the_copies(tmp_path, name):
    model = convolved(weights=False)
    found = part(model, tmp_path / "lowered.onnx", name, copies=2, turns=3, weight_bytes=2)
    assert found is not None
    graph = ModelProto.FromString(found.model).graph
    assert (len(graph.input), len(graph.output), len(graph.initializer)) == (6, 6, 2)
    (run,) = bound_runs(found.model, [None], RunSettings(), found.optimization, weights=found.weights)
    run()


@pytest.mark.parametrize(("name", "layouts"), [(WHOLE, ""), (FUSED, ""), (CORE, "b>p")])
def test_large_weights_lie_beside_the_model_and_are_run(tmp_path, name, layouts):
    if name == CORE and not has_blocked_convolutions(tmp_path / "lowered.onnx"):
        pytest.skip("the runtime has no blocked convolutions for this processor")
    model = convolved(weights=False, channels=128)
    found = part(model, tmp_path / "lowered.onnx", name, copies=2, weight_bytes=1)
    assert found is not None and found.layouts == layouts
    assert [array.shape for array in found.weights.values()] == [(128, 128, 3, 3)] * 2
    assert len(found.model) < 3000
    (run,) = bound_runs(found.model, [None], RunSettings(), found.optimization, weights=found.weights)
    run()
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"lowered.onnx"}, "what the runtime writes of weights is removed"


def test_a_runtime_that_takes_no_weights_beside_a_model_gets_a_whole_one(tmp_path):
    item = MeasureItem("it", convolved(weights=False, channels=128), part=WHOLE, weight_bytes=1)
    found = part_of(item, "all", RunSettings(runtime=OPENVINO), tmp_path / "lowered.onnx")
    assert found is not None and not found.weights
    (weights,) = ModelProto.FromString(found.model).graph.initializer
    assert len(weights.raw_data) == 4 * 128 * 128 * 9


def test_what_is_timed_with_large_weights_has_a_time(shared_process):
    items = [
        MeasureItem(name, convolved(weights=False, channels=128), part=name, weight_bytes=1) for name in (WHOLE, CORE)
    ]
    results = measure_many(shared_process, items, plan=MeasurePlan(rounds=3, sample_s=2e-4))
    assert isinstance(results[WHOLE], Timing)
    assert isinstance(results[CORE], Timing | Absent)


def test_what_the_runtime_fuses_where_results_are_used_is_fused_where_they_are_given(tmp_path):
    model = parser.parse_model(GELU)
    for number in model.graph.initializer:
        number.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(number), number.name))
    found = part(model.SerializeToString(), tmp_path / "lowered.onnx", FUSED, copies=2)
    assert found is not None and found.optimization == "none"
    graph = ModelProto.FromString(found.model).graph
    assert len(graph.node) == len(graph.input) == len(graph.output) == 2
    assert all("Gelu" in node.op_type for node in graph.node)


def test_a_core_stands_without_the_convolutions_around_it(tmp_path):
    path = tmp_path / "lowered.onnx"
    if not has_blocked_convolutions(path):
        pytest.skip("the runtime has no blocked convolutions for this processor")
    found = part(convolved(weights=False), path, CORE, weight_bytes=1)
    assert found is not None and found.optimization == "none" and found.layouts == "b>p"
    graph = ModelProto.FromString(found.model).graph
    assert [node.op_type for node in graph.node] == ["Conv", "ReorderOutput", "Exp"]
    assert len(graph.initializer) == 1
    twice = part(convolved(weights=False), path, CORE, copies=2, weight_bytes=1)
    assert twice is not None and twice.layouts == found.layouts
    assert len(ModelProto.FromString(twice.model).graph.node) == 2 * len(graph.node)


def test_copies_of_a_core_that_adds_to_an_operand_come_in_a_row(tmp_path):
    path = tmp_path / "lowered.onnx"
    if not has_blocked_convolutions(path):
        pytest.skip("the runtime has no blocked convolutions for this processor")
    found = part(convolved(weights=False, added=True), path, CORE, copies=3, weight_bytes=1)
    assert found is not None and found.layouts == "bb>b"
    graph = ModelProto.FromString(found.model).graph
    assert [node.op_type for node in graph.node] == ["Conv", "Conv", "Conv", "Shape"]
    first, *others = (node for node in graph.node if node.op_type == "Conv")
    assert first.input[3] in [value.name for value in graph.input]
    assert [node.input[3] for node in others] == [node.output[0] for node in (first, *others[:-1])]
    assert len(graph.input) == 1 + 3


def test_conversions_stand_alone_and_there_may_be_none(tmp_path):
    path = tmp_path / "lowered.onnx"
    if not has_blocked_convolutions(path):
        pytest.skip("the runtime has no blocked convolutions for this processor")
    found = part(conversion_model(IMAGE, False), path, FROM_BLOCKED, copies=3)
    assert found is not None
    assert [node.op_type for node in ModelProto.FromString(found.model).graph.node] == ["ReorderOutput"] * 3
    assert part(conversion_model([1, 3, 8, 8], True), path, TO_BLOCKED) is None


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(RuntimeFailure, match="expected ONNX Runtime to prepare a model of 4 bytes"):
        part(b"junk", tmp_path / "lowered.onnx", CORE)


def test_a_part_that_there_is_not_is_told_apart_from_a_failure(shared_process):
    items = [
        MeasureItem("none", conversion_model([1, 3, 8, 8], True), part=TO_BLOCKED),
        MeasureItem("core", convolved(weights=False), part=CORE, weight_bytes=1),
    ]
    results = measure_many(shared_process, items, plan=MeasurePlan(rounds=3, sample_s=2e-4))
    assert results["none"] == Absent()
    core = results["core"]
    assert isinstance(core, Timing | Absent)
    if isinstance(core, Timing):
        assert core.layouts == "b>p"
