"""Nodes that are slower than what they are read as are spelled so before the search, where all outputs agree."""

from itertools import cycle

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from taso_opt.api import OptimizeSettings, optimization, optimize_file
from taso_opt.cost import CostEntry, CostTable, Measurer, spelling_keys
from taso_opt.onnx_io import operator_counts
from taso_opt.onnx_io.files import in_place

QUICK = OptimizeSettings(budget=2.0)
GRAPH = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,16,64] x) => (float[1,4,16,32] y)
{ y = Einsum <equation = "blc,chd->bhld"> (x, w) }"""


@pytest.fixture
def model(tmp_path):
    proto, path = parser.parse_model(GRAPH), tmp_path / "model.onnx"
    weight = np.random.default_rng(0).standard_normal((64, 4, 32), np.float32) / 8
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.fixture
def timed(monkeypatch):
    """Lets nodes take so many seconds in a file and by rules; answers how often they were measured."""

    def times(in_file, by_rules):
        asked = []

        def measure(self, nodes, builder):
            asked.append(len(nodes))
            keys = [key for node in nodes for key in spelling_keys(node)]
            return [
                CostEntry(self.place, key, seconds, 0.0, 5)
                for key, seconds in zip(keys, cycle((in_file, by_rules)), strict=False)
            ]

        monkeypatch.setattr(Measurer, "measure_spellings", measure)
        return asked

    return times


def test_a_node_that_is_slower_as_it_is_becomes_what_it_is_read_as(model, process, timed, first_wins):
    asked = timed(1.0, 0.5)
    record = optimize_file(model, QUICK, process=process)
    assert (record.result, record.rules) == ("improved", ())
    assert record.passes == ("nodes spelled as what they are read as, which is faster here: 1 Einsum",)
    assert operator_counts(onnx.load(record.output)).keys() == {"MatMul", "Reshape", "Transpose"}
    assert record.search.predicted_before_ms - record.search.predicted_after_ms == pytest.approx(500)
    again = optimize_file(model, OptimizeSettings(budget=2.0, force=True), process=process)
    assert again.passes == record.passes and asked == [1]


@pytest.mark.parametrize("where", ["beside the model", "in a large file"])
def test_weights_stay_where_they_are(model, process, timed, first_wins, monkeypatch, where):
    """Those that are spelled otherwise, and those that nothing touches."""
    timed(1.0, 0.5)
    proto = parser.parse_model(
        GRAPH.replace("y = Einsum", "e = Einsum").replace("(x, w) }", "(x, w)  y = MatMul(e, v) }")
    )
    proto.graph.initializer.extend(onnx.load(model).graph.initializer)
    proto.graph.initializer.append(numpy_helper.from_array(np.eye(32, dtype=np.float32) * 3, "v"))
    model.write_bytes(proto.SerializeToString())
    if where == "in a large file":
        monkeypatch.setattr(in_place, "LARGE_FILE", 0)
        monkeypatch.setattr(in_place, "SMALLEST", 16)
    else:
        onnx.save(proto, model, save_as_external_data=True, location="weights.bin", size_threshold=16)
    seen, search = [], optimization.search

    def seeing(job):
        seen.extend(job.model.weights(name) for name in job.model.weights.tensors)
        return search(job)

    monkeypatch.setattr(optimization, "search", seeing)
    expected = numpy_helper.to_array(onnx.load(model).graph.initializer[0])
    record = optimize_file(model, QUICK, process=process)
    assert record.passes == ("nodes spelled as what they are read as, which is faster here: 1 Einsum",)
    assert operator_counts(onnx.load(record.output)).keys() == {"MatMul", "Reshape", "Transpose"}
    assert any(
        one.size == expected.size and np.array_equal(np.sort(one, None), np.sort(expected, None)) for one in seen
    )


@pytest.mark.parametrize(("in_file", "by_rules"), [(0.5, 1.0), (1.0, 0.99), (2e-9, 1e-9), (float("inf"), 1.0)])
def test_a_node_stays_where_that_is_no_slower_or_not_worth_a_change(model, process, timed, in_file, by_rules):
    asked = timed(in_file, by_rules)
    record = optimize_file(model, QUICK, process=process)
    assert (record.result, record.passes, asked) == ("unchanged", (), [1])


def test_a_model_that_then_computes_something_else_is_not_searched(model, process, timed, monkeypatch):
    timed(1.0, 0.5)
    wrong = onnx.load(model)
    wrong.graph.node[0].output[0] = "z"
    wrong.graph.node.append(onnx.helper.make_node("Neg", ["z"], ["y"]))
    monkeypatch.setattr("taso_opt.api.preparing.respelling.respelled", lambda *_: wrong)
    record = optimize_file(model, QUICK, process=process)
    assert (record.result, record.passes) == ("unchanged", ())


def test_other_goals_leave_nodes_as_they_are(model, process, timed):
    asked = timed(1.0, 0.5)
    record = optimize_file(model, OptimizeSettings(budget=1.0, objective="flops"), process=process)
    assert (record.passes, asked) == ((), [])


def test_both_spellings_of_a_node_are_timed(model, process):
    optimize_file(model, QUICK, process=process)
    with CostTable() as table:
        entries = {entry.unit: entry.seconds for entry in table.entries() if entry.unit.startswith("Einsum(")}
    assert sorted(key.rpartition(" ")[2] for key in entries) == ["file", "rules"]
    assert all(0 < seconds < 1 for seconds in entries.values())


def test_rows_of_constants_lose_axes_by_which_the_runtime_knows_no_normalization(tmp_path, process, first_wins):
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,8,64] x) => (float[2,8,64] y)
    { s = Mul(x, scale)  y = Tanh(s) }"""
    proto, path = parser.parse_model(text), tmp_path / "model.onnx"
    scale = np.random.default_rng(0).standard_normal((1, 1, 64), np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(scale, "scale"))
    path.write_bytes(proto.SerializeToString())
    record = optimize_file(path, QUICK, process=process)
    assert (record.result, record.rules) == ("improved", ())
    assert record.passes == ("rows of constants without axes of one element in front: 1 Mul",)
    (row,) = onnx.load(record.output).graph.initializer
    assert tuple(row.dims) == (64,)
    assert np.array_equal(numpy_helper.to_array(row), scale[0, 0])
