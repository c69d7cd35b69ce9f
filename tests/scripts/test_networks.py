"""Every benchmark network, built small: valid, finite, reacting to its inputs, the same at every build."""

import zlib
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from networks import NETWORKS
from networks.light import LIGHT_FILES, light_model
from taso_opt.errors import UsageError
from taso_opt.onnx_io.scopes import captured_names

ENCODER = {"layers": 2, "width": 32, "heads": 4, "sequence": 12}
RESNEXT = {"image": 32, "width": 16, "groups": 4, "blocks": (1, 2), "classes": 20}
REPVGG = {"image": 64, "stem": 8, "widths": (8, 16), "blocks": (2, 3), "classes": 20}

SMALL: dict[str, dict[str, Any]] = {
    "nasrnn": {"steps": 3, "hidden": 32},
    "nasrnn_fresh": {"steps": 2, "hidden": 16},
    "lstm": {"steps": 3, "hidden": 16},
    "sublstm": {"steps": 3, "hidden": 16},
    "mi_lstm": {"steps": 3, "hidden": 16},
    "sc_rnn": {"steps": 3, "hidden": 16, "context": 8},
    "gru_cells": {"steps": 3, "hidden": 16},
    "lstm_cells": {"steps": 3, "hidden": 16},
    "lstm_slices": {"steps": 3, "hidden": 16},
    "rnn_cells": {"steps": 3, "hidden": 16},
    "lstm_scan": {"steps": 3, "hidden": 16},
    "smoothing": {"steps": 5, "series": 16},
    "towers": {"count": 3, "width": 32},
    "normalized_towers": {"count": 3, "width": 32},
    "linear_attention": {"layers": 2, "sequence": 32, "width": 32, "heads": 4},
    "normalized_attention": {"layers": 2, "sequence": 32, "width": 32, "heads": 4},
    "lora": {"layers": 2, "sequence": 8, "width": 32, "rank": 4},
    "resnext50_grouped": RESNEXT,
    "resnext50_split": RESNEXT,
    "resnext50_branches": RESNEXT,
    "resnext_exported": {"image": 8, "channels": 16, "groups": 4},
    "bert_taso": ENCODER,
    "bert_base": ENCODER,
    "bert_respelled": ENCODER,
    "bert_heads": ENCODER,
    "bert_small": ENCODER,
    "bert_first_token": ENCODER,
    "bert_first_row": ENCODER,
    "nasnet": {"channels": 16, "size": 16, "stages": 2, "classes": 20},
    "resnet50": {"image": 64, "width": 8, "blocks": (1, 2, 1, 1), "classes": 20},
    "squeezenet": {"image": 64, "divide": 4, "classes": 20},
    "inception_v3": {"image": 107, "divide": 8, "classes": 20},
    "densenet121": {"image": 64, "growth": 8, "blocks": (2, 3, 2, 2), "classes": 20},
    "vgg19_convs": {"image": 32, "width": 8},
    "repvgg": REPVGG,
    "repvgg_normalized": REPVGG,
    "mobilenet_spellings": {"image": 64, "divide": 4, "classes": 20},
    "layernorm_spellings": {"sequence": 6, "width": 8, "rounds": 1},
    "gelu_spellings": {"sequence": 6, "width": 8, "rounds": 1},
    "activation_spellings": {"channels": 8, "image": 8},
    "sliced_channels": {"image": 32, "width": 8},
    "segmentation_head": {"image": 16, "width": 8, "classes": 5, "channels": (4, 8, 12, 16)},
    "upscaler": {"image": 8, "width": 8, "layers": 2},
    "raw_image": {"image": 33, "width": 8, "widths": (8, 12), "classes": 20},
    "pixel_blocks": {"image": 32, "width": 8, "widths": (8, 12)},
    "keyword_spotter": {"features": 8, "width": 16, "steps": 40, "blocks": 2, "words": 5},
    "wavenet": {"steps": 64, "kept": 16, "width": 8, "layers": 4},
    "vocoder": {"bands": 12, "width": 8, "steps": 60},
    "dlinear": {"batch": 2, "steps": 20, "ahead": 6, "series": 3, "window": 5},
    "grouped_queries": {"layers": 1, "width": 16, "heads": 4, "before": 6},
    "video": {"frames": 4, "image": 16, "first": 6, "widths": (8, 12), "classes": 10},
    "radial": {"points": 5, "width": 4, "centres": 7, "outputs": 3},
    "messages": {"nodes": 7, "width": 8, "edges": 20, "hidden": 16},
    "timesteps": {"steps": 9, "width": 8, "hidden": 16, "channels": 8, "image": 8},
    "cloud": {"points": 20, "widths": (8, 12), "behind": (8,), "classes": 3},
    "recommendation": {"users": 9, "items": 7, "width": 8, "hidden": 16, "pairs": 12},
    "scan": {"frames": 4, "image": 8, "width": 4, "classes": 2},
}


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


FEWEST_ROWS = 7
"""Of the small tables that inputs name rows of."""


def _inputs(session: onnxruntime.InferenceSession, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        value.name: generator.standard_normal(value.shape, np.float32)
        if value.type == "tensor(float)"
        else generator.integers(0, FEWEST_ROWS, value.shape)
        for value in session.get_inputs()
    }


def _outputs(model: onnx.ModelProto, seed: int) -> list[np.ndarray]:
    session = _session(model)
    return session.run(None, _inputs(session, seed))


def _reaction(one: np.ndarray, other: np.ndarray) -> float:
    """How far two outputs lie apart, in standard deviations; sqrt(2) if they have nothing in common."""
    return float(np.std(one - other) / np.std(one))


def test_the_small_sizes_cover_every_network():
    assert set(SMALL) == set(NETWORKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_valid_onnx_of_opset_17_with_static_interfaces(name):
    model = NETWORKS[name](**SMALL[name])
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 8
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
    for value in [*model.graph.input, *model.graph.output]:
        assert value.type.tensor_type.elem_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64)
        assert all(size.dim_value > 0 for size in value.type.tensor_type.shape.dim)


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_are_used_initializers_and_no_graph_inputs(name):
    graph = NETWORKS[name](**SMALL[name]).graph
    weights = {tensor.name for tensor in graph.initializer}
    assert weights
    assert not weights & {value.name for value in graph.input}
    assert weights <= {name for node in graph.node for name in (*node.input, *captured_names(node))}
    assert not [node for node in graph.node if node.op_type == "Constant"]


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_have_the_declared_shape_and_are_finite_and_neither_constant_nor_saturated(name):
    model = NETWORKS[name](**SMALL[name])
    for output, declared in zip(_outputs(model, 0), model.graph.output, strict=True):
        assert list(output.shape) == [size.dim_value for size in declared.type.tensor_type.shape.dim]
        assert np.all(np.isfinite(output))
        assert 1e-3 < np.std(output) < 1e3
        # A relu may leave many zeros, but a saturated tanh, sigmoid or softmax leaves hardly more than -1, 0 and 1.
        assert np.unique(output).size > output.size / 4


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_react_to_every_input(name):
    model = NETWORKS[name](**SMALL[name])
    session = _session(model)
    first, second = _inputs(session, 0), _inputs(session, 1)
    reference = np.concatenate([output.ravel() for output in session.run(None, first)])
    for changed in first:
        feeds = first | {changed: second[changed]}
        outputs = np.concatenate([output.ravel() for output in session.run(None, feeds)])
        assert _reaction(reference, outputs) > 0.02, changed


@pytest.mark.parametrize("name", NETWORKS)
def test_building_twice_gives_identical_bytes(name):
    build = NETWORKS[name]
    assert build(**SMALL[name]).SerializeToString() == build(**SMALL[name]).SerializeToString()


def test_weights_come_from_the_crc_of_the_network_name():
    weights = {tensor.name: tensor for tensor in NETWORKS["nasrnn"](steps=1, hidden=4).graph.initializer}
    expected = np.random.default_rng(zlib.crc32(b"nasrnn")).standard_normal((4, 4), np.float32) / 2
    np.testing.assert_array_equal(numpy_helper.to_array(weights["W_1"]), expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("resnext50_grouped", "resnext50_split"),
        ("resnext50_grouped", "resnext50_branches"),
        ("bert_base", "bert_respelled"),
        ("bert_base", "bert_heads"),
    ],
)
def test_two_spellings_of_a_network_compute_the_same(one, other):
    first, second = (_outputs(NETWORKS[name](**SMALL[name]), 3)[0] for name in (one, other))
    assert np.abs(first - second).max() < 2e-5 * np.abs(first).max()


def test_the_full_nasrnn_has_the_sizes_of_the_benchmark():
    graph = NETWORKS["nasrnn"]().graph
    assert [value.name for value in graph.input] == ["h0", *(f"x{step}" for step in range(1, 11))]
    assert [list(tensor.dims) for tensor in graph.initializer] == [[512, 512]] * 16
    assert len(graph.node) == 10 * 46


LOOPS = ["gru_cells", "lstm_cells", "lstm_slices", "rnn_cells", "lstm_scan"]
RECURRENT = ["nasrnn", "lstm", "sublstm", "mi_lstm", "sc_rnn", *LOOPS]


@pytest.mark.parametrize("name", RECURRENT)
def test_ten_steps_later_a_recurrent_network_still_remembers_its_first_inputs(name):
    session = _session(NETWORKS[name](hidden=128))
    first, second = _inputs(session, 0), _inputs(session, 1)
    reference = session.run(None, first)[-1]
    for changed in first:
        assert _reaction(reference, session.run(None, first | {changed: second[changed]})[-1]) > 1e-3, changed


def test_the_full_mobile_and_squeeze_networks_have_the_published_numbers_of_weights():
    squeezed = NETWORKS["squeezenet"]().graph
    assert sum(int(np.prod(tensor.dims)) for tensor in squeezed.initializer) == 1_235_496
    convolutions = [node for node in NETWORKS["mobilenet_spellings"]().graph.node if node.op_type == "Conv"]
    assert len(convolutions) == 52


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_a_light_model_is_valid_without_constant_weights_and_reacts_to_its_input(name):
    model = light_model(name)
    onnx.checker.check_model(model, full_check=True)
    assert len(model.graph.input) == 1
    assert not {"ConstantOfShape", "Softmax"} & {node.op_type for node in model.graph.node}
    one, other = _outputs(model, 0)[0], _outputs(model, 1)[0]
    assert np.all(np.isfinite(one))
    assert _reaction(one, other) > 0.02


def test_a_light_model_keeps_its_other_nodes_and_is_the_same_at_every_call():
    model = light_model("squeezenet")
    operators = [node.op_type for node in model.graph.node]
    assert (operators.count("Conv"), operators.count("Relu"), operators.count("Concat")) == (26, 26, 8)
    assert model.SerializeToString() == light_model("squeezenet").SerializeToString()


def test_an_unknown_light_model_is_refused_with_the_known_names():
    with pytest.raises(UsageError, match=r"alexnet, .*, zfnet512\), found 'resnet18'"):
        light_model("resnet18")
    assert len(LIGHT_FILES) == 9
