"""Rules reach what local functions do."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from parsed import CHAINED, with_weights
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.preparing import replaced_calls
from taso_opt.errors import UnsupportedError

TEXT = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
g (float[64, 512] x) => (float[64, 16] y) { y = my.chain(x, a, b) }
<domain: "my", opset_import: ["" : 17]> chain (x, a, b) => (r) { h = MatMul(x, a)  r = MatMul(h, b) }"""


@pytest.fixture
def model(tmp_path):
    proto = with_weights(TEXT, **CHAINED)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="model.data", size_threshold=0)
    return path


def test_what_a_function_computes_is_rewritten(model, process, first_wins):
    record = optimize_file(model, OptimizeSettings(budget=20), process=process)
    assert record.result == "improved" and record.outputs[0].agrees
    assert record.passes == ("calls of local functions replaced by their bodies: from 1 to 2 operators",)
    assert (record.operators_before, record.operators_after) == ({"my.chain": 1}, {"MatMul": 1})
    written = onnx.load(record.output)
    assert not written.functions and [entry.domain for entry in written.opset_import] == ["", "my"]


def test_a_function_written_out_keeps_to_the_limits_too(model, process, first_wins):
    impossible = OptimizeSettings(memory_limit=1000, budget=20)
    record = optimize_file(model, impossible, process=process)
    assert (record.result, record.reason) == ("unchanged", "no rewriting within the limits is better by the objective")


def test_what_a_function_holds_is_no_growth_of_the_model_that_holds_it_instead(model, process, first_wins):
    proto = onnx.load(model)
    held = proto.graph.initializer.pop(1)
    constant = helper.make_node("Constant", [], ["held"], value=held)
    proto.functions[0].node.insert(0, constant)
    proto.functions[0].node[2].input[1] = "held"
    del proto.functions[0].input[2], proto.graph.node[0].input[2]
    onnx.save(proto, model)
    record = optimize_file(model, OptimizeSettings(max_size_growth=0, budget=20), process=process)
    assert record.result == "improved" and record.bytes_added < 0


def test_a_call_that_no_rule_gains_by_comes_back_as_it_was(model, process, none_wins):
    proto = onnx.load(model)
    proto.functions[0].node[0].op_type = "Add"
    del proto.functions[0].node[1:]
    proto.functions[0].output[:] = ["h"]
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 512
    plain = model.with_name("plain.onnx")
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((64, 512), np.float32), "a"))
    onnx.save(proto, plain)
    record = optimize_file(plain, OptimizeSettings(budget=5), process=process)
    assert record.result == "unchanged"
    assert plain.with_name("plain.opt.onnx").read_bytes() == plain.read_bytes()


def test_a_model_whose_calls_cannot_be_replaced_is_searched_as_it_is(model, process, monkeypatch):
    def refuse(proto):
        raise UnsupportedError("expected onnx-ir to replace calls of functions, found: a reason")

    monkeypatch.setattr(replaced_calls, "without_calls", refuse)
    record = optimize_file(model, OptimizeSettings(budget=5, dry_run=True), process=process)
    assert record.passes == () and record.operators_after == {"my.chain": 1}
