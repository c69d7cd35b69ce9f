"""What is left of a model without operators that nobody knows gives what they are given and takes what they give."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper, parser

from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import cut_out, has_control_flow, needs_libraries, read_model
from taso_opt.spec import load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>'
BETWEEN = (
    HEAD
    + """g (float[n,3] x, float[n,3] other, bool c) => (float[n,3] y, float[n,3] p, float[n,3] q)
<float[n,3] p, float[n,3] q> {
    r = Relu(x)  p, q = com.example.Pair(r, w, other)  s = Neg(q)  t = Abs(s)
    y = If(c) <then_branch = g () => (float[n,3] a) { a = Add(t, r) },
               else_branch = g () => (float[n,3] b) { b = Neg(s) }> }"""
)
X = np.array([[-1, 2, -3]], np.float32)


@pytest.fixture
def read(tmp_path):
    def read(text):
        proto = parser.parse_model(text)
        if "w" in text:
            proto.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "w"))
        path = tmp_path / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        return read_model(path, load_specs())

    return read


def test_operands_become_outputs_and_results_become_inputs(read):
    model = read(BETWEEN)
    cut = cut_out(model)
    assert [(entry.name, entry.shape, entry.bound) for entry in cut.inputs] == [
        ("x", ("n", 3), (1, 3)),
        ("q", ("n", 3), (1, 3)),
    ]
    # What the one operator is given, then what the bodies of the other capture; y, p and q are not computed any more.
    assert cut.names == ("r", "t", "r", "s")
    left = cut.apply(model.proto)
    assert [node.op_type for node in left.graph.node] == ["Relu", "Neg", "Abs", *["Identity"] * 4]
    assert not left.graph.initializer and not left.functions
    session = ort.InferenceSession(left.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": X, "q": X})
    for mine, expected in zip(found, (np.maximum(X, 0), np.abs(X), np.maximum(X, 0), -X), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_what_nothing_reads_is_no_part_of_what_is_left(read):
    model = read(
        HEAD
        + "g (float[n,3] x, float[2] mask) => (float[n,3] y) <float[n,3] a>"
        + "{ a = com.example.Op(x)  y = Relu(a)  d = com.example.Op(y)  e = Neg(mask) }"
    )
    left = cut_out(model).apply(model.proto)
    assert [node.op_type for node in left.graph.node] == ["Relu"]
    session = ort.InferenceSession(left.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"a": X})[0], np.maximum(X, 0))


def test_a_model_in_which_a_cut_operator_is_missing_is_not_compared(read):
    model = read(BETWEEN)
    other = onnx.ModelProto.FromString(model.proto.SerializeToString())
    del other.graph.node[-1]
    with pytest.raises(UnsupportedError, match="expected the node that gives 'y' in both models, found it in one"):
        cut_out(model).apply(other)


@pytest.mark.parametrize("body", ["{ y = Relu(x) }", "{ y = com.example.Mystery(x) }"])
def test_there_is_nothing_to_cut_where_all_is_known_or_nothing(read, body):
    assert cut_out(read(HEAD + "g (float[3] x) => (float[3] y)" + body)) is None


def test_a_result_without_a_type_cannot_be_drawn(read):
    model = read(HEAD + "g (float[3] x) => (float[3] y) { r = Relu(x)  m = com.example.Mystery(r)  y = Identity(m) }")
    with pytest.raises(UnsupportedError, match="expected a type for value 'm'"):
        cut_out(model)


def test_operators_of_ones_own_need_libraries_and_local_functions_do_not(read):
    assert needs_libraries(read(BETWEEN).proto) and has_control_flow(read(BETWEEN).proto)
    own = (
        HEAD
        + "g (float[3] x) => (float[3] y) { y = com.example.Twice(x) }"
        + '<domain: "com.example", opset_import: ["" : 17]> Twice (a) => (b) { b = Add(a, a) }'
    )
    assert not needs_libraries(read(own).proto) and not has_control_flow(read(own).proto)
