"""Models optimized and compared in OpenVINO: what is measured there, and what ends early."""

import importlib.util

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import taso_opt
from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.cost import CostTable
from taso_opt.errors import RuntimeFailure, UnsupportedError, UsageError
from taso_opt.search.judging.agreement import Agreement

needs_openvino = pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed")
WIDTH, TOWERS = 768, 8


@pytest.fixture
def towers(tmp_path):
    """Eight products with one row each and the same weights, which one product with eight rows replaces."""
    weights = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)).astype(np.float32)
    names = [f"x{number}" for number in range(TOWERS)]
    nodes = [helper.make_node("MatMul", [name, "w"], [f"{name}_y"]) for name in names]
    nodes.append(helper.make_node("Concat", [f"{name}_y" for name in names], ["y"], axis=1))
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH]) for name in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, WIDTH * TOWERS])
    return saved(tmp_path, nodes, inputs, output, [numpy_helper.from_array(weights, "w")])


def saved(folder, nodes, inputs, output, weights=()):
    graph = helper.make_graph(nodes, "model", inputs, [output], list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


@needs_openvino
def test_costs_and_speed_are_measured_there_and_outputs_are_checked(towers, process):
    record = optimize_file(towers, OptimizeSettings(runtime="openvino", budget=5), process=process)
    assert record.result in ("improved", "unchanged")
    assert record.timed_by.startswith("openvino 2")
    if record.speedup is not None:  # on a busy machine the time may be up before anything is found
        assert record.max_rel_error is not None and record.max_rel_error < 1e-4
        assert record.timed_in == "cpu time, openvino"
    assert record.search.measured > 0 and record.settings["runtime"] == "openvino"
    with CostTable() as table:
        assert {" | openvino " in entry.device for entry in table.entries()} == {True}


@needs_openvino
def test_two_models_are_compared_there(towers):
    found = compare_files(towers, towers, CompareSettings(runtime="openvino", rounds=3))
    assert found.agrees
    assert found.timed_by.startswith("openvino 2") and found.document()["timed_by"] == found.timed_by
    assert 0.2 < found.speedup.ratio < 5
    assert compare_files(towers, towers, CompareSettings(rounds=3)).timed_by == ""


@needs_openvino
def test_a_model_that_openvino_refuses_ends_in_one_line_before_the_search(tmp_path, process):
    square = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 3])
    path = saved(tmp_path, [helper.make_node("Det", ["x"], ["y"])], [square], helper.make_tensor_value_info("y", 1, []))
    optimize_file(path, OptimizeSettings(budget=1), process=process)
    told: list[str] = []
    with pytest.raises(RuntimeFailure, match=r"^expected OpenVINO to load .*model\.onnx, found: .*Det") as caught:
        optimize_file(path, OptimizeSettings(runtime="openvino", force=True), told.append, process)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)
    assert told == ["reading the model"]
    with pytest.raises(RuntimeFailure, match="expected OpenVINO to load"):
        compare_files(path, path, CompareSettings(runtime="openvino", rounds=3))


def test_without_the_package_the_command_that_installs_it_is_told(towers, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openvino" else find(name))
    for run in (
        lambda: optimize_file(towers, OptimizeSettings(runtime="openvino")),
        lambda: compare_files(towers, towers, CompareSettings(runtime="openvino")),
        lambda: taso_opt.explain(towers, "y", runtime="openvino"),
    ):
        with pytest.raises(UnsupportedError, match=r'found none; run: pip install "tasoopt\[openvino\]"'):
            run()


def test_other_words_are_usage_errors(towers):
    with pytest.raises(UsageError, match="expected a runtime among onnxruntime, openvino, found 'tvm'"):
        taso_opt.optimize(towers, runtime="tvm")


def test_models_that_differ_only_where_they_are_timed_are_compared_and_do_not_agree(towers, monkeypatch):
    differing = Agreement((), (), elsewhere=("output 0 is off, in OpenVINO",))
    monkeypatch.setattr("taso_opt.api.comparison.agreement", lambda *_: differing)
    found = compare_files(towers, towers, CompareSettings(rounds=3))
    assert not found.agrees
    assert found.reasons == ("output 0 is off, in OpenVINO",)
