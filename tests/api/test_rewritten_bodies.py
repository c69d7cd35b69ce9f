"""Bodies of control flow are rewritten by rules, each as a model of its own, before the search."""

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper, parser

from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.errors import RuntimeFailure
from taso_opt.onnx_io import signature

WIDTH = 192
QUICK = OptimizeSettings(budget=10.0)
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
CHOICE = (
    HEAD
    + f"""g (float[n, {WIDTH}] x, bool c) => (float[n, {WIDTH}] y)
{{ y = If (c) <then_branch = p () => (float[n, {WIDTH}] u) {{ s = MatMul(x, v)  t = MatMul(s, w)  u = Tanh(t) }},
               else_branch = q () => (float[n, {WIDTH}] r)
                   {{ a = MatMul(x, v)  b = MatMul(x, w)  r = Add(a, b) }}> }}"""
)
LOOP = (
    HEAD
    + f"""g (float[4, {WIDTH}] x, int64 given) => (float[4, {WIDTH}] y)
<bool go = {{1}}>
{{ times = TIMES
  y = Loop <body = b (int64 at, bool more, float[4, {WIDTH}] h) => (bool next, float[4, {WIDTH}] z)
      {{ next = Identity(more)  a = MatMul(h, v)  b = MatMul(h, w)  s = Add(a, b)  z = Tanh(s) }}> (times, go, x) }}"""
)


@pytest.fixture
def written(tmp_path):
    """Writes a model of that text with two weights to a file."""

    def write(text):
        generator, proto = np.random.default_rng(0), parser.parse_model(text)
        for name in "vw":
            weight = generator.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5
            proto.graph.initializer.append(numpy_helper.from_array(weight.astype(np.float32), name))
        (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
        return tmp_path / "model.onnx"

    return write


def run(path, feed):
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feed)


def body_operators(path):
    (node,) = [node for node in onnx.load(path).graph.node if node.op_type in ("If", "Loop")]
    return {attribute.name: [inner.op_type for inner in attribute.g.node] for attribute in node.attribute}


def test_both_branches_are_rewritten_whichever_random_inputs_take(written, process, first_wins):
    path = written(CHOICE)
    record = optimize_file(path, replace(QUICK, dims={"n": 16}), process=process)
    assert record.result == "improved" and not record.passes
    found = body_operators(record.output)
    assert found == {"then_branch": ["MatMul", "Tanh"], "else_branch": ["MatMul"]}
    assert sum(rule.count for rule in record.rules) >= 2
    assert record.operators_after["MatMul"] == 2 < record.operators_before["MatMul"]
    assert signature(onnx.load(record.output)) == signature(onnx.load(path))
    for rows, choice in ((16, True), (16, False), (3, True), (1, False)):
        x = np.random.default_rng(rows).standard_normal((rows, WIDTH)).astype(np.float32)
        feed = {"x": x, "c": np.array(choice)}
        np.testing.assert_allclose(run(path, feed)[0], run(record.output, feed)[0], rtol=1e-4, atol=1e-5)


def compared(path, record, times):
    x = np.random.default_rng(1).standard_normal((4, WIDTH)).astype(np.float32)
    feed = {"x": x, "given": np.array(times)}
    np.testing.assert_allclose(run(path, feed)[0], run(record.output, feed)[0], rtol=1e-4, atol=1e-5)


def test_what_a_loop_does_in_each_turn_is_rewritten(written, process, first_wins):
    path = written(LOOP.replace("TIMES", "Identity(given)"))
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "improved"
    assert body_operators(record.output)["body"].count("MatMul") == 1
    assert {"v", "w"}.isdisjoint(tensor.name for tensor in onnx.load(record.output).graph.initializer)
    for times in (12, 1, 0):
        compared(path, record, times)


def test_a_loop_of_a_known_number_of_turns_is_written_out_where_that_is_faster(written, process):
    path = written(LOOP.replace("TIMES", "Constant <value_int = 5> ()").replace("Tanh(s)", "Identity(s)"))
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "improved" and "loops written out turn by turn: 1" in record.passes
    assert record.operators_after == {"MatMul": 1}, "five turns are one product"
    compared(path, record, 5)


def test_a_loop_that_is_no_faster_written_out_is_left_as_it_is(written, process, none_wins):
    path = written(LOOP.replace("TIMES", "Constant <value_int = 5> ()"))
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "unchanged" and not record.passes


def test_a_dry_run_tells_the_rules_of_bodies(written, process):
    record = optimize_file(written(CHOICE), replace(QUICK, dims={"n": 16}, dry_run=True), process=process)
    assert (record.result, record.output, record.reason) == ("dry-run", None, "")
    assert record.rules and record.operators_after["MatMul"] == 2


def test_other_objectives_leave_bodies_as_they_are(written, process):
    record = optimize_file(written(CHOICE), replace(QUICK, objective="flops", dims={"n": 16}), process=process)
    assert record.result == "unchanged" and not record.rules


def unchanged(path, process):
    record = optimize_file(path, replace(QUICK, dims={"n": 16}), process=process)
    assert (record.result, record.rules) == ("unchanged", ())
    assert path.with_name("model.opt.onnx").read_bytes() == path.read_bytes()


def test_bodies_stay_as_they_are_where_the_whole_computes_something_else_then(written, process, monkeypatch):
    monkeypatch.setattr("taso_opt.api.preparing.inner.standing_in", lambda *_: None)
    unchanged(written(CHOICE), process)


def test_bodies_that_cannot_be_compared_stay_as_they_are(written, process, monkeypatch):
    def failing(*_):
        raise RuntimeFailure("a crash")

    monkeypatch.setattr("taso_opt.api.optimization.hold_contest", failing)
    unchanged(written(CHOICE), process)
