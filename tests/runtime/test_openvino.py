"""OpenVINO as the runtime that measures: what it runs and refuses, and by which clock."""

import importlib.util
import os
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np
import pytest
from onnx import TensorProto, helper

from taso_opt.errors import RuntimeFailure, UnsupportedError, UsageError
from taso_opt.runtime import (
    OPENVINO,
    CompareLatency,
    Contestant,
    Failed,
    MeasureItem,
    MeasurePlan,
    RunSettings,
    RuntimeProcess,
    Timing,
    compare_latency,
    describe,
    measure_many,
    probe,
    require_runtime,
    resolve_device,
    run_feeds,
    run_outputs,
)
from taso_opt.runtime.child.engine import one_line
from taso_opt.runtime.child.sampling import clock_of
from taso_opt.runtime.requests import Describe, Probe, Tidy, runtime_of

THERE = RunSettings(runtime=OPENVINO)
needs_openvino = pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed")


@pytest.fixture
def without_openvino(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openvino" else find(name))


def test_a_missing_package_gives_the_command_that_installs_it(without_openvino):
    require_runtime()
    with pytest.raises(UnsupportedError) as caught:
        require_runtime(OPENVINO)
    assert str(caught.value) == 'expected the package openvino, found none; run: pip install "tasoopt[openvino]"'


def test_it_has_the_processor_only():
    providers = ("CUDAExecutionProvider", "CPUExecutionProvider")
    assert [resolve_device(word, providers, OPENVINO) for word in ("auto", "cpu")] == ["cpu", "cpu"]
    with pytest.raises(UsageError, match="expected device auto or cpu for the runtime openvino, found 'cuda'"):
        resolve_device("cuda", providers, OPENVINO)


def test_its_processor_time_is_that_of_all_threads():
    assert (clock_of(THERE).name, clock_of(THERE).cpu_s) == ("cpu", time.process_time)
    assert (clock_of(THERE.judge).name, clock_of(THERE.judge).cpu_s) == ("cpu", time.thread_time)
    assert clock_of(RunSettings(threads=2, runtime=OPENVINO)).name == "wall"


def test_its_messages_lose_places_in_its_sources():
    message = (
        "Exception from src/inference/src/cpp/core.cpp:126:\nException from src/core/src/node.cpp:586:\n"
        "Check 'x' failed at src/core/src/y.cpp:30:\nIt is wrong.\n"
    )
    assert one_line(RuntimeError(message)) == "Check 'x' failed: It is wrong."


def test_requests_say_which_runtime_they_are_about():
    assert [runtime_of(request) for request in (Probe(), Tidy(""), Describe(b""))] == ["onnxruntime"] * 3
    assert [runtime_of(request) for request in (Probe(OPENVINO), Describe(b"", THERE))] == [OPENVINO] * 2


@needs_openvino
def test_the_probe_names_what_measures(shared_process):
    assert probe(shared_process).timed_by == ""
    found = probe(shared_process, OPENVINO)
    assert found.timed_by == f"openvino {version('openvino')}"
    assert found.package.startswith("onnxruntime")


@needs_openvino
def test_importing_it_tells_nobody(tmp_path):
    code = (
        "import sys; from taso_opt.runtime.child.openvino import library; library().Core(); "
        "assert 'openvino_telemetry' not in sys.modules"
    )
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    assert list(tmp_path.iterdir()) == []


@needs_openvino
def test_outputs_are_computed_on_several_feeds_of_several_sizes(shared_process, unary, tmp_path):
    path = tmp_path / "tanh.onnx"
    path.write_bytes(unary("Tanh", ("N", 2)))
    feeds = [{"x": np.full((rows, 2), value, np.float32)} for rows, value in ((3, -1), (0, 1), (2, 1))]
    for model in (path, path.read_bytes()):
        outputs = run_feeds(shared_process, model, feeds, THERE)
        assert [array.shape for (array,) in outputs] == [(3, 2), (0, 2), (2, 2)]
        for (array,), feed in zip(outputs, feeds, strict=True):
            np.testing.assert_allclose(array, np.tanh(feed["x"]), rtol=1e-5)


@needs_openvino
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (TensorProto.FLOAT, np.array(0.5, np.float32)),
        (TensorProto.DOUBLE, np.array([0.5, -2.0])),
        (TensorProto.INT64, np.array([[1, -2]])),
        (TensorProto.BOOL, np.array([True, False])),
    ],
)
def test_types_and_ranks_come_back_as_they_went_in(shared_process, unary, kind, values):
    model = unary("Identity", values.shape, dtype=kind)
    (found,) = run_outputs(shared_process, model, {"x": values}, THERE)
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(found, values)


@needs_openvino
def test_a_model_is_described_by_the_inputs_that_it_needs_and_its_outputs(shared_process):
    kinds = {"ids": (TensorProto.INT64, ["N", 3]), "x": (TensorProto.FLOAT, [2]), "unused": (TensorProto.FLOAT, [9])}
    inputs = [helper.make_tensor_value_info(name, *kind) for name, kind in kinds.items()]
    outputs = [
        helper.make_tensor_value_info(name, kinds[of][0], kinds[of][1]) for name, of in (("y", "x"), ("z", "ids"))
    ]
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Abs", ["ids"], ["z"])]
    graph = helper.make_graph(nodes, "three", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    found = describe(shared_process, model, THERE)
    assert {spec.name: (spec.dtype, spec.shape) for spec in found.inputs + found.outputs} == {
        "ids": ("int64", (None, 3)),
        "x": ("float32", (2,)),
        "y": ("float32", (2,)),
        "z": ("int64", (None, 3)),
    }
    feed = {"ids": np.array([[-1, 2, -3]]), "x": np.array([-1, 1], np.float32), "unused": np.zeros(9, np.float32)}
    y, z = run_outputs(shared_process, model, feed, THERE)
    assert (y.tolist(), z.tolist()) == ([0, 1], [[1, 2, 3]])


@needs_openvino
def test_malformed_bytes_and_wrong_sizes_are_refused_in_one_sentence(shared_process, unary):
    for wrong in (b"not a model", b""):
        with pytest.raises(RuntimeFailure, match=f"expected OpenVINO to load a model of {len(wrong)} bytes, found: "):
            describe(shared_process, wrong, THERE)
    for feed in ({"x": np.ones((3, 3), np.float32)}, {"z": np.ones((4, 4), np.float32)}):
        with pytest.raises(RuntimeFailure, match=r"expected OpenVINO to run a model of \d+ bytes, found: ") as caught:
            run_outputs(shared_process, unary("Relu"), feed, THERE)
        assert "\n" not in str(caught.value)
        assert "src/" not in str(caught.value)
    describe(shared_process, unary("Relu"), THERE)


@needs_openvino
def test_an_endless_model_is_ended_and_named(endless):
    with (
        RuntimeProcess() as process,
        pytest.raises(RuntimeFailure, match=r"expected OpenVINO to finish with a model of \d+ bytes within 3 s"),
    ):
        run_feeds(process, endless, [{"x": np.array(0.5, np.float32)}], THERE, timeout_s=3.0)


@needs_openvino
def test_faster_and_slower_models_are_recognised_and_a_bad_one_fails_alone(shared_process, matmuls):
    one, three, eight = (matmuls(count, 512) for count in (1, 3, 8))
    feeds = tuple({"x": np.full((64, 512), value, np.float32)} for value in (0.5, 1.0))
    request = CompareLatency(three, (one, b"junk", eight), feeds, THERE, rounds=8, recreations=3, sample_s=1e-3)
    result = compare_latency(shared_process, request)
    faster, bad, slower = result.candidates
    assert (result.clock, result.rounds, result.recreations) == ("cpu", 8, 3)
    assert isinstance(bad, Failed) and bad.reason.startswith("expected OpenVINO to load a model of 4 bytes, found: ")
    assert isinstance(faster, Contestant) and result.ratio(faster).value > 1.5
    assert isinstance(slower, Contestant) and result.ratio(slower).value < 0.7


@needs_openvino
def test_small_models_are_timed_and_failures_stay_apart(shared_process, unary):
    items = [
        MeasureItem("small", unary("Tanh", (8, 8))),
        MeasureItem("large", unary("Tanh", (512, 512))),
        MeasureItem("bad", b"junk"),
        MeasureItem("free dims", unary("Relu", ("N", None, 3))),
    ]
    plan = MeasurePlan(rounds=5, sample_s=2e-4)
    for threads in (1, 2):
        found = measure_many(shared_process, items, RunSettings(threads=threads, runtime=OPENVINO), plan)
        assert isinstance(found["bad"], Failed)
        small, large, free = (found[name] for name in ("small", "large", "free dims"))
        assert isinstance(small, Timing) and isinstance(large, Timing) and isinstance(free, Timing)
        assert 0 < small.median_s < large.median_s
