"""Rewritten graphs become patches on the original model."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from taso_opt.core.graph import Graph
from taso_opt.core.term import Apply, Const, postorder
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import bytes_added, check_fidelity, in_written_order, read_model, spellable, write_model
from taso_opt.onnx_io.writing.patch import Patch
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.spec import load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
TWO_PRODUCTS = (
    HEAD + "g (float[2,3] x) => (float[2,4] y) { a = MatMul(x, v)  b = MatMul(x, w)  s = Add(a, b)  y = Tanh(s) }"
)
PRODUCT_WEIGHTS = {"v": (3, 4), "w": (3, 4)}


def rewritten(model, mapping):
    outputs = substitute_terms(model.builder, model.graph.outputs, mapping)
    return Graph(model.graph.inputs, outputs)


def term_of(model, value):
    """The term of a named value of the file."""
    return next(term for term, origin in model.origin.items() if origin.value == value)


def sum_of_weights(model):
    """x v + x w replaced by x (v + w)."""
    op = model.builder
    x, v, w = (term_of(model, name) for name in "xvw")
    return rewritten(model, {term_of(model, "s"): op.MatMul(x, op.Add(v, w))})


def types_of(proto):
    return [node.op_type for node in proto.graph.node]


def test_an_unchanged_graph_gives_the_same_bytes(read):
    model = read(TWO_PRODUCTS, PRODUCT_WEIGHTS)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_a_replaced_sum_is_written_with_its_weights_added_ahead_of_time(read, run, feed_of):
    model = read(TWO_PRODUCTS, PRODUCT_WEIGHTS)
    result = write_model(model, sum_of_weights(model))
    assert types_of(result) == ["MatMul", "Tanh"]
    (weight,) = result.graph.initializer
    expected = model.constant("v").astype(float) + model.constant("w")
    assert np.array_equal(numpy_helper.to_array(weight), expected.astype(np.float32))
    feed = feed_of(model)
    before, after = run(model.proto, feed)["y"], run(result, feed)["y"]
    assert np.allclose(before, after, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(after, np.zeros_like(after))
    assert bytes_added(model.proto, result) == -3 * 4 * 4


def test_kept_nodes_keep_their_name_their_text_and_their_attributes(read):
    proto = parser.parse_model(TWO_PRODUCTS)
    proto.graph.node[3].name = "the last"
    proto.graph.node[3].doc_string = "kept"
    model = read(proto, PRODUCT_WEIGHTS)
    last = write_model(model, sum_of_weights(model)).graph.node[-1]
    assert (last.name, last.doc_string, list(last.output)) == ("the last", "kept", ["y"])


def test_metadata_functions_unused_opsets_and_unknown_fields_survive(read):
    proto = parser.parse_model(TWO_PRODUCTS)
    proto.producer_name, proto.producer_version, proto.domain, proto.model_version = "someone", "1.2", "org.here", 7
    proto.doc_string, proto.graph.doc_string = "about the model", "about the graph"
    proto.metadata_props.add(key="author", value="a\nb")
    proto.opset_import.add(domain="ai.onnx.ml", version=3)
    proto.opset_import.add(domain="local", version=1)
    function = helper.make_function(
        "local", "F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    proto.functions.append(function)
    proto.MergeFromString(b"\xca\x3e\x03abc")  # field 1001, which no version of ONNX knows
    model = read(proto, PRODUCT_WEIGHTS)
    result = write_model(model, sum_of_weights(model))
    for field in ("producer_name", "producer_version", "domain", "model_version", "doc_string", "ir_version"):
        assert getattr(result, field) == getattr(proto, field)
    assert list(result.metadata_props) == list(proto.metadata_props)
    assert list(result.opset_import) == list(proto.opset_import)
    assert list(result.functions) == list(proto.functions)
    assert b"\xca\x3e\x03abc" in result.SerializeToString()


def test_a_lost_signature_is_an_internal_error():
    model = parser.parse_model(TWO_PRODUCTS)
    other = parser.parse_model(TWO_PRODUCTS)
    other.graph.output[0].name = "z"
    other.metadata_props.add(key="a", value="b")
    check_fidelity(model, model)
    with pytest.raises(AssertionError, match="rewriting changed the outputs, metadata of the model"):
        check_fidelity(model, other)


def test_constants_that_stand_in_the_original_as_an_expression_stay_nodes(read):
    model = read(
        HEAD + "g (float[2,3] x) => (float[2,4] y) { t = Transpose(w)  a = MatMul(x, t)  b = Relu(a)  y = Relu(b) }",
        {"w": (4, 3)},
    )
    result = write_model(model, rewritten(model, {model.graph.outputs[0]: term_of(model, "b")}))
    assert types_of(result) == ["Transpose", "MatMul", "Relu"]
    assert [tensor.name for tensor in result.graph.initializer] == ["w"]
    assert result.graph.node[-1].output[0] == "y"


def test_unused_weights_go_but_overridable_ones_and_captured_ones_stay(read):
    proto = parser.parse_model(
        HEAD
        + """g (bool c, float[2,3] x, float[4] o) => (float[2,4] y, float[2,4] q)
        { a = MatMul(x, v)  b = MatMul(x, w)  s = Add(a, b)  y = Tanh(s)
          q = If (c) <then_branch = t () => (float[2,4] p) { p = MatMul(x, k) },
                      else_branch = e () => (float[2,4] r) { r = MatMul(x, v) }> }"""
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(4, np.float32), "o"))
    model = read(proto, {"v": (3, 4), "w": (3, 4), "k": (3, 4), "dead": (2,)})
    result = write_model(model, sum_of_weights(model))
    names = [tensor.name for tensor in result.graph.initializer]
    assert names[:3] == ["o", "v", "k"]
    assert len(names) == 4


def test_old_files_get_new_weights_as_constant_nodes_since_initializers_would_be_inputs(read, run, feed_of):
    proto = parser.parse_model(
        '<ir_version: 3, opset_import: ["" : 9]> g (float[2,3] x, float[3,4] v, float[3,4] w) => (float[2,4] y) '
        "{ a = MatMul(x, v)  b = MatMul(x, w)  s = Add(a, b)  y = Tanh(s) }"
    )
    model = read(proto, PRODUCT_WEIGHTS)
    result = write_model(model, sum_of_weights(model))
    assert types_of(result) == ["Constant", "MatMul", "Tanh"]
    assert [value.name for value in result.graph.input] == ["x", "v", "w"]
    assert [tensor.name for tensor in result.graph.initializer] == ["v", "w"]
    feed = feed_of(model)
    assert np.allclose(run(model.proto, feed)["y"], run(result, feed)["y"], rtol=1e-5)


@pytest.mark.parametrize(("opset", "inputs"), [(9, 1), (11, 1), (13, 2), (17, 2), (18, 2)])
def test_a_split_is_spelled_as_the_opset_demands(read, run, feed_of, opset, inputs):
    model = read(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[2,3] x) => (float[2,1] y, float[2,4] z)'
        "{ y = MatMul(x, v)  z = MatMul(x, w) }",
        {"v": (3, 1), "w": (3, 4)},
    )
    op = model.builder
    x, v, w = (term_of(model, name) for name in "xvw")
    whole = op.Split(op.MatMul(x, op.Concat(v, w, axis=-1)), axis=-1, sizes=(1, 4))
    result = write_model(model, Graph(model.graph.inputs, (op.item(whole, 0), op.item(whole, 1))))
    assert types_of(result) == ["MatMul", "Split"]
    split = result.graph.node[1]
    assert list(split.output) == ["y", "z"]
    assert len(split.input) == inputs
    assert any(attribute.name == "split" for attribute in split.attribute) == (inputs == 1)
    feed = feed_of(model)
    before, after = run(model.proto, feed), run(result, feed)
    assert all(np.allclose(before[name], after[name], rtol=1e-5) for name in "yz")


@pytest.mark.parametrize("opset", [9, 11, 13, 17, 18])
def test_equal_parts_of_a_size_that_only_a_run_knows_are_a_split_too(read, run, tmp_path, opset):
    model = read(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[b,3] u, float[b,3] v) => (float[b,3] y, float[b,3] z)'
        "{ y = MatMul(u, w)  z = MatMul(v, w) }",
        {"w": (3, 3)},
    )
    op = model.builder
    u, v, w = (term_of(model, name) for name in "uvw")
    size = op.type(u).shape[0]
    rows = op.MatMul(op.Concat(u, v, axis=-2), w)
    split = op.Split(rows, axis=-2, sizes=(size, size))
    assert spellable(model)(op.item(split, 1))
    result = write_model(model, Graph(model.graph.inputs, (op.item(split, 0), op.item(split, 1))))
    assert types_of(result) == ["Concat", "MatMul", "Split"]
    onnx.save(result, tmp_path / "again.onnx")
    again = read_model(tmp_path / "again.onnx", load_specs())
    assert again.graph.outputs == (again.builder.item(split, 0), again.builder.item(split, 1)), "it is read as written"
    for rows in (1, 4):
        feed = {name: np.full((rows, 3), number, np.float32) for number, name in enumerate("uv")}
        before, after = run(model.proto, feed), run(result, feed)
        assert all(np.allclose(before[name], after[name], rtol=1e-5) for name in "yz")
    unequal = op.Split(rows_of(op, u, v), axis=-2, sizes=(size, 2 * size))
    assert not spellable(model)(op.item(unequal, 0))


def rows_of(op, u, v):
    return op.Concat(op.Concat(u, v, axis=-2), u, axis=-2)


@pytest.mark.parametrize("opset", [9, 11, 13, 17])
def test_two_reshapes_share_one_constant(read, run, feed_of, opset):
    model = read(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[N,6] x) => (float[?,2,3] y, float[?,2,3] z)'
        "<int64[3] s = {-1, 2, 3}> { a = Relu(x)  y = Reshape(a, s)  b = Tanh(x)  z = Reshape(b, s) }",
        dims={"N": 5},
    )
    op = model.builder
    x, y, z = term_of(model, "x"), *model.graph.outputs
    shape = y.attribute("shape")
    moved = op.Reshape(x, shape=shape)
    outputs = op.Relu(moved), op.Tanh(op.Reshape(op.Relu(op.Relu(x)), shape=shape))
    result = write_model(model, Graph(model.graph.inputs, outputs))
    assert types_of(result).count("Reshape") == 2
    assert len(result.graph.initializer) == 1
    assert numpy_helper.to_array(result.graph.initializer[0]).tolist() == [0, 2, 3]
    assert run(result, feed_of(model))["y"].shape == (5, 2, 3)
    assert z.attribute("shape") == shape


def test_an_output_that_becomes_an_input_or_a_constant_or_another_output_gets_an_identity(read, run):
    model = read(
        HEAD + "g (float[2] x) => (float[2] a, float[2] b, float[2] c, float[2] d) <float[2] w = {3, 4}> "
        "{ a = Relu(x)  b = Tanh(x)  c = Sigmoid(x)  d = Neg(x) }"
    )
    d = model.graph.outputs[3]
    x, w = term_of(model, "x"), Const("w", TensorType("float32", (2,)))
    result = write_model(model, Graph(model.graph.inputs, (x, d, d, w)))
    assert [value.name for value in result.graph.output] == list("abcd")
    values = run(result, {"x": np.array([1, -2], np.float32)})
    assert {name: value.tolist() for name, value in values.items()} == {
        "a": [1, -2],
        "b": [-1, 2],
        "c": [-1, 2],
        "d": [3, 4],
    }
    assert types_of(result).count("Neg") == 1


def test_of_equal_initializers_that_are_outputs_one_is_the_identity_of_the_other(read, run):
    model = read(
        HEAD + "g (float[2] x) => (float[2] y, float[2] a, float[2] b, float[2] c) "
        "<float[2] a = {3, 4}, float[2] b = {3, 4}> { r = Relu(x)  y = Relu(r)  c = Add(x, b) }"
    )
    result = write_model(model, rewritten(model, {model.graph.outputs[0]: term_of(model, "r")}))
    assert types_of(result) == ["Relu", "Add", "Identity"]
    assert [tensor.name for tensor in result.graph.initializer] == ["a"]
    values = run(result, {"x": np.array([1, -2], np.float32)})
    assert {name: value.tolist() for name, value in values.items()} == {
        "y": [1, 0],
        "a": [3, 4],
        "b": [3, 4],
        "c": [4, 2],
    }


def test_swapped_outputs_keep_their_names(read, run):
    model = read(HEAD + "g (float[2] x) => (float[2] a, float[2] b) { a = Relu(x)  b = Neg(x) }")
    a, b = model.graph.outputs
    result = write_model(model, Graph(model.graph.inputs, (b, a)))
    values = run(result, {"x": np.array([1, -2], np.float32)})
    assert (values["a"].tolist(), values["b"].tolist()) == ([-1, 2], [1, 0])
    assert sorted(types_of(result)) == ["Neg", "Relu"]


def test_an_inner_value_that_is_an_output_too_keeps_its_name(read, run):
    model = read(HEAD + "g (float[2] x) => (float[2] z, float[2] y) { y = Neg(x)  a = Relu(y)  z = Relu(a) }")
    result = write_model(model, rewritten(model, {model.graph.outputs[0]: term_of(model, "a")}))
    assert [list(node.output) for node in result.graph.node] == [["y"], ["z"]]
    assert run(result, {"x": np.array([1, -2], np.float32)})["z"].tolist() == [0, 2]


def test_a_changed_value_that_bodies_capture_is_renamed_inside_them_at_any_depth(read, run):
    model = read(
        HEAD
        + """g (bool c, bool d, float[2] x) => (float[2] y, float[2] r) {
            h = Relu(x)  k = Relu(h)  r = Tanh(h)
            y = If (c) <then_branch = t () => (float[2] p) {
                    p = If (d) <then_branch = u () => (float[2] m) { m = Add(k, x) },
                                else_branch = v () => (float[2] n) { n = Neg(k) }> },
                else_branch = e () => (float[2] q) { q = Mul(k, k) }>
        }"""
    )
    h, k = term_of(model, "h"), term_of(model, "k")
    result = write_model(model, rewritten(model, {k: h}))
    assert types_of(result) == ["Relu", "Tanh", "If"]
    x = np.array([2, -3], np.float32)
    for c in (True, False):
        for d in (True, False):
            feed = {"c": np.array(c), "d": np.array(d), "x": x}
            assert run(model.proto, feed)["y"].tolist() == run(result, feed)["y"].tolist()


def test_a_loop_keeps_its_body_when_what_it_captures_changes(read, run):
    model = read(
        HEAD
        + """g (float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}> {
            a = Relu(x)  h = Relu(a)  k = Tanh(h)
            y = Loop (n, go, x) <body = b (int64 i, bool on, float[2] s) => (bool more, float[2] t)
                { more = Identity(on)  t = Add(s, k) }>
        }"""
    )
    result = write_model(model, rewritten(model, {term_of(model, "h"): term_of(model, "a")}))
    assert [list(node.output) for node in result.graph.node] == [["a"], ["k"], ["y"]]
    feed = {"x": np.array([-1, 2], np.float32)}
    assert run(result, feed)["y"].tolist() == run(model.proto, feed)["y"].tolist()


def test_what_a_body_calls_as_the_value_that_it_captures_is_called_now_gets_another_name(read, run):
    model = read(
        HEAD
        + """g (bool c, float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}> {
            h = Relu(x)  k = Relu(h)
            y = Loop (n, go, x) <body = b (int64 i, bool on, float[2] h) => (bool more, float[2] t)
                { more = Identity(on)  w = Add(h, k)
                  t = If (c) <then_branch = u () => (float[2] p) { p = Mul(k, h) },
                              else_branch = v () => (float[2] q) { q = Sub(k, w) }> }>
        }"""
    )
    result = write_model(model, rewritten(model, {term_of(model, "k"): term_of(model, "h")}))
    assert types_of(result) == ["Relu", "Loop"]
    for c in (True, False):
        feed = {"c": np.array(c), "x": np.array([1, -2], np.float32)}
        assert run(result, feed)["y"].tolist() == run(model.proto, feed)["y"].tolist()


DOWNSTREAM = (
    HEAD
    + """g (float[N,6] x) => (float y, float z) <int64[3] s = {0, -1, 3}>
    { a = Relu(x)  b = Relu(a)  r = Reshape(b, s)  p, q = Split <axis = 1> (r)  m = Mul(q, p)  y = Softmax(m)
      g = Gemm <transB = 1> (b, w)  z = Sub(g, b) }"""
)


def test_nodes_behind_a_rewriting_keep_their_names_their_spelling_and_their_values(read, run, feed_of):
    proto = parser.parse_model(DOWNSTREAM)
    for at, node in enumerate(proto.graph.node):
        node.name = f"number {at}"
    model = read(proto, {"w": (6, 6)}, dims={"N": 4})
    result = write_model(model, rewritten(model, {term_of(model, "b"): term_of(model, "a")}))
    kept = [node for node in result.graph.node if node.name.startswith("number")]
    assert [node.name for node in kept] == [f"number {at}" for at in (0, 2, 3, 4, 5, 6, 7)]
    assert [list(node.input) for node in kept[1:4]] == [["a", "s"], ["r"], ["q", "p"]]
    assert (kept[5].op_type, list(kept[5].input)) == ("Gemm", ["a", "w"])  # a product with a transposed weight
    feed = feed_of(model)
    before, after = run(model.proto, feed), run(result, feed)
    assert all(np.allclose(before[name], after[name], rtol=1e-5, atol=1e-6) for name in before)


def test_a_node_behind_a_rewriting_keeps_its_weights_in_their_shape(read, run, feed_of):
    proto = parser.parse_model(
        HEAD + "g (float[2,3,4,4] x) => (float[2,3,4,4] y) { a = Relu(x)  b = Relu(a)  y = Mul(b, s) }"
    )
    model = read(proto, {"s": (1, 3, 1, 1)})
    result = write_model(model, rewritten(model, {term_of(model, "b"): term_of(model, "a")}))
    assert [(node.op_type, list(node.input)) for node in result.graph.node] == [("Relu", ["x"]), ("Mul", ["a", "s"])]
    assert [list(tensor.dims) for tensor in result.graph.initializer] == [[1, 3, 1, 1]]
    feed = feed_of(model)
    assert np.array_equal(run(model.proto, feed)["y"], run(result, feed)["y"])


def test_new_names_clash_with_no_name_anywhere(read):
    text = TWO_PRODUCTS.replace("a = ", "tasoopt_0 = ").replace("(a, b)", "(tasoopt_0, b)")
    proto = parser.parse_model(text)
    proto.graph.node[1].name = "tasoopt_1"
    model = read(proto, PRODUCT_WEIGHTS)
    result = write_model(model, sum_of_weights(model))
    names = [name for node in result.graph.node for name in (node.name, *node.output) if name]
    assert len(names) == len(set(names))
    assert not {"tasoopt_0", "tasoopt_1"} & set(names)


def test_odd_names_are_kept_as_they_are(read, run):
    odd = {"x": 'in "quoted" name', "s": "a/b:c.d::e", "y": '{"json": [1, 2]}', "v": "w\tv", "w": "größe"}
    proto = parser.parse_model(TWO_PRODUCTS)
    for node in proto.graph.node:
        node.input[:] = [odd.get(name, name) for name in node.input]
        node.output[:] = [odd.get(name, name) for name in node.output]
    proto.graph.input[0].name, proto.graph.output[0].name = odd["x"], odd["y"]
    model = read(proto, {odd["v"]: (3, 4), odd["w"]: (3, 4)})
    op = model.builder
    x, v, w = (term_of(model, odd[name]) for name in "xvw")
    result = write_model(model, rewritten(model, {term_of(model, odd["s"]): op.MatMul(x, op.Add(v, w))}))
    feed = {odd["x"]: np.ones((2, 3), np.float32)}
    assert np.allclose(run(model.proto, feed)[odd["y"]], run(result, feed)[odd["y"]], rtol=1e-5)


def test_kept_nodes_stand_in_the_order_of_the_file(read):
    model = read(
        HEAD + "g (float[2] x) => (float[6] y) { a = Neg(x)  b = Abs(x)  c = Exp(x)  d = Relu(c)  e = Relu(d) "
        "s = SequenceConstruct(e, b, a)  y = ConcatFromSequence <axis = 0> (s) }"
    )
    result = write_model(model, rewritten(model, {term_of(model, "e"): term_of(model, "d")}))
    assert types_of(result) == ["Neg", "Abs", "Exp", "Relu", "SequenceConstruct", "ConcatFromSequence"]


def test_weights_that_only_notes_and_training_name_stay(read):
    proto = parser.parse_model(TWO_PRODUCTS)
    for name in ("scale", "step"):
        proto.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), name))
    note = proto.graph.quantization_annotation.add(tensor_name="y")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    training = proto.training_info.add()
    training.update_binding.add(key="step", value="step")
    training.algorithm.name = "a"
    model = read(proto, PRODUCT_WEIGHTS)
    result = write_model(model, sum_of_weights(model))
    assert {"scale", "step"} <= {tensor.name for tensor in result.graph.initializer}
    assert result.graph.quantization_annotation == model.proto.graph.quantization_annotation


def test_notes_on_values_that_are_gone_go_too(read):
    proto = parser.parse_model(TWO_PRODUCTS)
    for name in ("a", "s"):
        proto.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]))
    model = read(proto, PRODUCT_WEIGHTS)
    result = write_model(model, sum_of_weights(model))
    assert [value.name for value in result.graph.value_info] == []


def test_absent_optional_inputs_and_outputs_stay_absent(read, run):
    proto = parser.parse_model(
        HEAD + "g (float[1,1,2] x) => (float[1,1,2] y, float[1,1,2] h) { a = Relu(x)  b = Relu(a)  y = Clip(b, , m) "
        " s, h = RNN <hidden_size = 2> (b, w, r) }"
    )
    proto.graph.node[3].output[0] = ""
    proto.graph.initializer.append(numpy_helper.from_array(np.array(1, np.float32), "m"))
    model = read(proto, {"w": (1, 2, 2), "r": (1, 2, 2)})
    result = write_model(model, rewritten(model, {term_of(model, "b"): term_of(model, "a")}))
    assert list(result.graph.node[1].input) == ["a", "", "m"]
    assert list(result.graph.node[2].output) == ["", "h"]


def test_a_number_that_a_spelling_adds_leaves_a_scalar_a_scalar(read, run):
    model = read(HEAD + "g (float x) => (float y) { a = Abs(x)  r = Reciprocal(a)  y = Tanh(r) }")
    power = model.builder.Pow(term_of(model, "a"), exponent=(-1, 1))
    result = write_model(model, rewritten(model, {term_of(model, "r"): power}))
    assert types_of(result) == ["Abs", "Pow", "Tanh"]
    found = run(result, {"x": np.array(-2, np.float32)})["y"]
    assert found.shape == () and np.allclose(found, np.tanh(0.5))


def test_a_product_of_constants_is_folded_in_double_precision(read):
    text = HEAD + "g (float[2,3] x) => (float[2,4] y) { a = MatMul(x, v)  y = MatMul(a, w) }"
    model = read(text, {"v": (3, 4), "w": (4, 4)})
    op = model.builder
    x, v, w = (term_of(model, name) for name in "xvw")
    result = write_model(model, Graph(model.graph.inputs, (op.MatMul(x, op.MatMul(v, w)),)))
    (weight,) = (numpy_helper.to_array(tensor) for tensor in result.graph.initializer)
    exact = model.constant("v").astype(float) @ model.constant("w").astype(float)
    assert np.array_equal(weight, exact.astype(np.float32))


def test_what_cannot_be_spelled_is_known_beforehand(read):
    model = read(HEAD + "g (float[N,M] x) => (float[N,M] y) { y = Relu(x) }")
    op = model.builder
    x = term_of(model, "x")
    n, m = op.type(x).shape
    can_write = spellable(model)
    assert can_write(op.Tanh(op.Relu(x)))
    assert can_write(op.Reshape(x, shape=(n * m,)))
    crossed = op.Reshape(x, shape=(m, n))
    assert not can_write(crossed)
    assert not can_write(op.Relu(crossed))


def test_a_weight_repeated_up_to_a_size_that_is_not_known_cannot_be_written(read):
    model = read(HEAD + "g (float[N,4] x) => (float[N,4] y) { y = Add(x, w) }", {"w": (1, 4)})
    op = model.builder
    x, w = term_of(model, "x"), term_of(model, "w")
    n, _ = op.type(x).shape
    can_write = spellable(model)
    assert not can_write(op.Add(x, op.Expand(w, shape=(n, 4))))
    assert can_write(op.Add(x, op.Expand(w, shape=(1, 4))))


def test_a_graph_of_another_type_is_an_internal_error(read):
    model = read(HEAD + "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }")
    op = model.builder
    with pytest.raises(AssertionError, match="an output changed its type"):
        write_model(model, Graph(model.graph.inputs, (op.Transpose(model.graph.outputs[0], perm=(-1, -2)),)))


def test_an_opaque_node_keeps_its_proto_when_its_operands_change(read, run, feed_of):
    proto = parser.parse_model(
        HEAD + "g (float[2,4] x) => (float[2,2] y, float[2,4] z) "
        "{ a = Relu(x)  b = Relu(a)  p, q = Split <axis = 1> (b)  y = Hardmax <axis = 1> (p)"
        "  l, i = TopK(b, k)  z = Erf(b) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "k"))
    model = read(proto)
    result = write_model(model, rewritten(model, {term_of(model, "b"): term_of(model, "a")}))
    assert types_of(result) == ["Relu", "Split", "Hardmax", "Erf"]
    feed = feed_of(model)
    before, after = run(model.proto, feed), run(result, feed)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_node_keeps_the_outputs_that_nothing_uses_any_more(read):
    model = read(HEAD + "g (float[4] x, int64[1] k) => (float[1] y) { v, i = TopK(x, k)  a = Relu(v)  y = Relu(a) }")
    result = write_model(model, rewritten(model, {model.graph.outputs[0]: term_of(model, "a")}))
    assert list(result.graph.node[0].output) == ["v", "i"]


SEVERAL = (
    HEAD
    + """g (float[2,4] x, bool c) => (float[2,4] y, float[2,4] z, float[2,2] p)
    { a = Gemm <transB = 1> (x, w, b)  r = Relu(a)  t = Transpose(r)  u = Transpose(t)  d = Add(u, a)
      p, q = Split <axis = 1> (d)  j = Concat <axis = 1> (q, p)  m = Mul(j, r)  s = Softmax(m)  y = Sub(s, d)
      z = If (c) <then_branch = e () => (float[2,4] f) { f = Add(m, d) },
                  else_branch = g () => (float[2,4] h) { h = Identity(u) }> }"""
)


@pytest.mark.parametrize("seed", range(8))
def test_any_part_of_a_graph_may_be_made_anew(read, run, feed_of, respelled, seed):
    model = read(SEVERAL, {"w": (4, 4), "b": (4,)})
    generator = np.random.default_rng(seed)
    chosen = {term for term in model.graph.terms() if generator.random() < 0.5}
    result = respelled(model, chosen.__contains__)
    check_fidelity(model.proto, result)
    for c in (True, False):
        feed = {**feed_of(model), "c": np.array(c)}
        before, after = run(model.proto, feed), run(result, feed)
        assert all(np.allclose(before[name], after[name], rtol=1e-5, atol=1e-6) for name in before)


def test_a_rewritten_graph_stays_in_the_order_of_the_file(read):
    """Also where all that follows the change is new, and a walk from the output would meet the later product first."""
    text = (
        HEAD
        + """g (float[2,3] x) => (float[2,3] y) {
        a = MatMul(x, v)  b = Tanh(a)  c = MatMul(x, w)  y = Sub(c, b)
    }"""
    )
    model = read(text, {"v": (3, 3), "w": (3, 3)})
    op, x = model.builder, term_of(model, "x")
    product = op.MatMul(x, op.Mul(term_of(model, "v"), term_of(model, "v")))
    graph = rewritten(model, {term_of(model, "a"): product})

    def computed(terms):
        return [term.operator for term in terms if isinstance(term, Apply) and term.operator != "Mul"]

    assert computed(postorder(graph.outputs)) == ["MatMul", "MatMul", "Tanh", "Sub"]
    assert computed(in_written_order(model, graph.outputs)) == ["MatMul", "Tanh", "MatMul", "Sub"]
    assert types_of(write_model(model, graph)) == ["MatMul", "Tanh", "MatMul", "Sub"]


def test_what_is_written_is_compared_with_the_original(read, monkeypatch):
    model = read(TWO_PRODUCTS, PRODUCT_WEIGHTS)
    made = Patch.model

    def forgets_a_text(patch):
        result = made(patch)
        result.doc_string = "another"
        return result

    monkeypatch.setattr(Patch, "model", forgets_a_text)
    with pytest.raises(AssertionError):
        write_model(model, sum_of_weights(model))


def test_a_node_is_kept_for_one_of_the_terms_that_take_its_place(read, run, feed_of):
    model = read(HEAD + "g (float[2,3] x) => (float[2,3] y) { a = Relu(x)  y = Add(a, a) }")
    op, (x,) = model.builder, model.graph.inputs
    sides = [op.apply("Relu", [op.apply(name, [x], {})], {}) for name in ("Neg", "Tanh")]
    result = write_model(model, Graph(model.graph.inputs, (op.apply("Add", sides, {}),)))
    assert sorted(node.op_type for node in result.graph.node) == ["Add", "Neg", "Relu", "Relu", "Tanh"]
    value = feed_of(model)["x"]
    expected = np.maximum(-value, 0) + np.maximum(np.tanh(value), 0)
    np.testing.assert_allclose(run(result, feed_of(model))["y"], expected, rtol=1e-6)
