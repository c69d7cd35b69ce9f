"""Bodies of control flow as models of their own, and the way back into the file."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, numpy_helper, parser

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import inner_models, read_model, with_inner_models
from taso_opt.spec import load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
CHOICE = (
    HEAD
    + """g (float[n, 4] x, float[m, n] y, bool c) => (float[n, k] z)
<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[4] b = {1,2,3,4}>
{ r = Add(x, b)
  z = If (c) <then_branch = p () => (float[n, 4] u) { t = MatMul(r, w)  u = Add(t, b) },
              else_branch = q () => (float[n, 4] v) { s = MatMul(y, r)  v = MatMul(s, w) }> }"""
)


def read(text, folder, **dims):
    path = folder / "model.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return read_model(path, load_specs(), dims)


def as_model(inner, folder):
    path = folder / "inner.onnx"
    path.write_bytes(inner.part.proto.SerializeToString())
    return read_model(path, load_specs(), inner.part.dims)


def types(model):
    return {variable.name: variable.type for variable in model.graph.inputs}


def test_what_a_branch_captures_is_an_input_or_a_weight_of_its_model(tmp_path):
    then, other = inner_models(read(CHOICE, tmp_path, n=3, m=3))
    model = as_model(then, tmp_path)
    (size,) = then.part.dims
    assert (then.node, then.number, then.part.dims) == (1, 0, {size: 3})
    assert types(model) == {"r": TensorType("float32", (symbol(size), 4))}
    assert {tensor.name for tensor in then.part.proto.graph.initializer} == then.part.weights == {"w", "b"}
    assert set(types(as_model(other, tmp_path))) == {"y", "r"} and other.part.weights == {"w"}
    assert then.keeps_types(model)


def test_sizes_that_are_equal_outside_are_equal_inside(tmp_path):
    _, other = inner_models(read(CHOICE, tmp_path))
    found = types(as_model(other, tmp_path))
    assert found["y"].shape[1] == found["r"].shape[0] != found["y"].shape[0]


def run(proto, **feed):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feed)


def with_body(inner, text, *tensors):
    """The inner model with another body."""
    changed = ModelProto()
    changed.CopyFrom(inner.part.proto)
    made = parser.parse_graph(f"g () => () {{ {text} }}")
    del changed.graph.node[:]
    changed.graph.node.extend(made.node)
    changed.graph.initializer.extend(tensors)
    return changed


def test_changed_bodies_come_back_under_names_that_nothing_else_bears(tmp_path):
    model = read(CHOICE.replace("r = Add(x, b)", "r = Add(x, b)  tasoopt_inner_0 = Neg(r)"), tmp_path)
    then, other = inner_models(model)
    product = numpy_helper.from_array(2 * np.eye(4, dtype=np.float32), "x")  # the name of an input outside
    changed = [
        (then, with_body(then, "new = MatMul(r, x)  u = Add(new, b)", product)),
        (other, with_body(other, "new = MatMul(r, x)  new2 = MatMul(y, new)  v = Identity(new2)", product)),
    ]
    result = with_inner_models(model.proto, changed)
    onnx.checker.check_model(result, full_check=True)
    feed = {"x": np.ones((2, 4), np.float32), "y": 3 * np.eye(2, dtype=np.float32)}
    outside = feed["x"] + np.arange(1, 5)
    np.testing.assert_allclose(run(result, c=np.array(True), **feed)[0], 2 * outside + np.arange(1, 5))
    np.testing.assert_allclose(run(result, c=np.array(False), **feed)[0], 6 * outside)
    assert [tensor.name for tensor in result.graph.initializer] == ["b"], "w is not used any more"
    assert model.proto.graph.node[2].attribute[0].g.node[0].input == ["r", "w"], "the file is as it was"


def test_nothing_is_renamed_that_was_there_before(tmp_path):
    model = read(CHOICE, tmp_path)
    result = with_inner_models(model.proto, [(inner, inner.part.proto) for inner in inner_models(model)])
    assert result == model.proto


LOOP = (
    (
        HEAD
        + """g (int64 times, bool go, float[n, 4] h, float[8, 4] x) => (float[n, 4] y)
{ y = Loop (times, go) <body = b (int64 at, bool on, float[n, 4] a) => (bool more, float[n, 4] s)
        { more = Identity(on)  r = Gather <axis = 0> (x, at)  s = STEP }> (h) }"""
    )
    .replace("(times, go) <body", "<body")
    .replace("}> (h)", "}> (times, go, h)")
)


def test_a_state_that_a_loop_hands_on_has_its_first_type_in_every_turn(tmp_path):
    (inner,) = inner_models(read(LOOP.replace("STEP", "Add(a, r)"), tmp_path, n=3))
    model = as_model(inner, tmp_path)
    (size,) = inner.part.dims
    assert inner.keeps_types(model)
    assert types(model) == {
        "at": TensorType("int64", ()),
        "on": TensorType("bool", ()),
        "a": TensorType("float32", (symbol(size), 4)),
        "x": TensorType("float32", (8, 4)),
    }


def test_the_number_of_a_turn_has_the_rank_that_the_body_states(tmp_path):
    text = LOOP.replace("STEP", "Add(a, r)").replace("int64 at", "int64[1] at")
    (inner,) = inner_models(read(text, tmp_path))
    assert types(as_model(inner, tmp_path))["at"] == TensorType("int64", (1,))


@pytest.mark.parametrize("step", ["Concat <axis = 0> (a, a)", "MatMul(a, x)"])
def test_a_state_whose_type_changes_from_turn_to_turn_is_told(step, tmp_path):
    text = LOOP.replace("STEP", step).replace("float[8, 4] x", "float[4, 5] x").replace("(float[n, 4] y)", "(float y)")
    (inner,) = inner_models(read(text.replace("float[n, 4] s)", "float s)"), tmp_path))
    assert not inner.keeps_types(as_model(inner, tmp_path))


SCAN = (
    HEAD
    + """g (float[3] h, float[n, 3] x) => (float[3] last, float[n, 3] all)
{ last, all = Scan <num_scan_inputs = 1 AXES, body = b (float[3] a, float[3] r) => (float[3] s, float[3] out)
        { s = Add(a, r)  out = Neg(s) }> (h, x) }"""
)


def test_a_scan_hands_out_one_row_after_the_other(tmp_path):
    (inner,) = inner_models(read(SCAN.replace("AXES", ""), tmp_path))
    model = as_model(inner, tmp_path)
    assert types(model) == dict.fromkeys("ar", TensorType("float32", (3,))) and inner.keeps_types(model)
    assert not list(inner_models(read(SCAN.replace("AXES", ", scan_input_axes = [1]"), tmp_path)))


def test_a_body_that_uses_what_is_no_tensor_is_left_out(tmp_path):
    text = CHOICE.replace("r = Add(x, b)", "r = Add(x, b)  l = SequenceConstruct(x, r)").replace(
        "t = MatMul(r, w)", "i = Constant <value_int = 0> ()  e = SequenceAt(l, i)  t = MatMul(e, w)"
    )
    assert [(inner.node, inner.number) for inner in inner_models(read(text, tmp_path))] == [(2, 1)]
