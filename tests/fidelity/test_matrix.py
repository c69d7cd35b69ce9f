"""The fidelity matrix: one test a feature, each in a model in which something beside it is rewritten."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from taso_opt.onnx_io import signature

X = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
DETOUR = "t = Transpose <perm = [1, 0]> (x)  h = Transpose <perm = [1, 0]> (t)  "
"""Two operators that the rules remove: h is x."""


def plain(body, inputs="float[2,3] x", outputs="float[2,3] y", head=HEAD):
    return f"{head} g ({inputs}) => ({outputs}) {{ {DETOUR} {body} }}"


def test_names_and_order_of_inputs_and_outputs(rewrite):
    text = plain(
        "a = Relu(h)  b = Tanh(h)  c = Add(a, z)",
        "float[2,3] z, float[2,3] x",
        "float[2,3] c, float[2,3] b, float[2,3] a",
    )
    done = rewrite(text)
    assert done.rules
    assert [value.name for value in done.after.graph.input] == ["z", "x"]
    assert [value.name for value in done.after.graph.output] == ["c", "b", "a"]
    done.check({"x": X, "z": X + 1})


def test_element_types_and_shapes_of_inputs_and_outputs(rewrite):
    done = rewrite(
        plain(
            "y = Relu(h)  k = Cast <to = 7> (y)  d = Cast <to = 11> (i)",
            "float[2,3] x, int8[4] i",
            "float[2,3] y, int64[2,3] k, double[4] d",
        )
    )
    assert done.rules
    assert done.after.graph.input == done.before.graph.input
    assert done.after.graph.output == done.before.graph.output
    done.check({"x": X, "i": np.arange(4, dtype=np.int8)})


def test_symbolic_and_unnamed_dims_stay_and_every_size_still_runs(rewrite):
    done = rewrite(plain("y = Relu(h)", "float[batch,?] x", "float[batch,?] y"))
    assert done.rules and done.types == ["Relu"]
    assert signature(done.after) == signature(done.before)
    assert done.after.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert not done.after.graph.input[0].type.tensor_type.shape.dim[1].HasField("dim_value")
    done.check({"x": X}, {"x": X[:1]}, {"x": np.ones((5, 1), np.float32)})


def test_opset_imports_in_their_order_even_unused_ones(rewrite):
    head = '<ir_version: 8, opset_import: ["ai.onnx.ml" : 3, "" : 17, "unused.domain" : 9]>'
    done = rewrite(plain("y = Relu(h)", head=head))
    assert done.rules
    assert [(entry.domain, entry.version) for entry in done.after.opset_import] == [
        ("ai.onnx.ml", 3),
        ("", 17),
        ("unused.domain", 9),
    ]
    done.check({"x": X})


@pytest.mark.parametrize("version", [3, 4, 7, 8, 9, 10])
def test_the_ir_version(rewrite, version):
    proto = parser.parse_model(plain("m = MatMul(h, w)  y = Relu(m)", outputs="float[2,3] y"))
    proto.ir_version = version
    if version == 3:
        proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 3]))
    done = rewrite(proto, {"w": (3, 3)})
    assert done.rules and done.after.ir_version == version
    done.check({"x": X})


def test_producer_domain_and_model_version(rewrite):
    proto = parser.parse_model(plain("y = Relu(h)"))
    proto.producer_name, proto.producer_version, proto.domain, proto.model_version = "maker", "3.1-β", "org.here", 12
    done = rewrite(proto)
    after = done.after
    assert done.rules
    assert (after.producer_name, after.producer_version, after.domain, after.model_version) == (
        "maker",
        "3.1-β",
        "org.here",
        12,
    )


def test_doc_strings_of_model_graph_and_kept_nodes(rewrite):
    proto = parser.parse_model(plain("y = Relu(h)"))
    proto.doc_string, proto.graph.doc_string, proto.graph.node[-1].doc_string = "model\n", "graph\tdoc", "node"
    done = rewrite(proto)
    assert done.rules
    assert (done.after.doc_string, done.after.graph.doc_string, done.after.graph.node[-1].doc_string) == (
        "model\n",
        "graph\tdoc",
        "node",
    )


def test_metadata_of_model_graph_and_kept_nodes(rewrite):
    proto = parser.parse_model(plain("y = Relu(h)"))
    for place in (proto, proto.graph, proto.graph.node[-1]):
        place.metadata_props.add(key="key", value='{"a": [1]}')
        place.metadata_props.add(key="empty", value="")
    done = rewrite(proto)
    assert done.rules
    for before, after in (
        (proto, done.after),
        (proto.graph, done.after.graph),
        (proto.graph.node[-1], done.after.graph.node[-1]),
    ):
        assert list(before.metadata_props) == list(after.metadata_props)


def test_fields_that_no_version_of_onnx_knows(rewrite):
    proto = parser.parse_model(plain("y = Relu(h)"))
    proto.MergeFromString(b"\xca\x3e\x03abc")
    done = rewrite(proto)
    assert done.rules and b"\xca\x3e\x03abc" in done.output.read_bytes()


def test_odd_names_of_values_and_nodes(rewrite):
    proto = parser.parse_model(plain("a = Relu(h)  y = Tanh(a)"))
    odd = {"x": "größe/x:0", "a": 'b "c" <d>', "y": "\t"}
    for node in proto.graph.node:
        node.input[:] = [odd.get(name, name) for name in node.input]
        node.output[:] = [odd.get(name, name) for name in node.output]
    proto.graph.input[0].name, proto.graph.output[0].name, proto.graph.node[2].name = odd["x"], odd["y"], "наме\n"
    done = rewrite(proto)
    assert done.rules
    assert done.after.graph.node[0].name == "наме\n"
    assert [list(node.output) for node in done.after.graph.node] == [['b "c" <d>'], ["\t"]]
    done.check({odd["x"]: X})


def test_overridable_initializers_with_their_default_and_another_value(rewrite):
    proto = parser.parse_model(plain("y = Mul(h, o)", "float[2,3] x, float[3] o"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1, 2, 3], np.float32), "o"))
    done = rewrite(proto)
    assert done.rules
    assert [value.name for value in done.after.graph.input] == ["x", "o"]
    assert [tensor.name for tensor in done.after.graph.initializer] == ["o"]
    done.check({"x": X}, {"x": X, "o": np.array([5, 0, -1], np.float32)})


def test_local_functions(rewrite):
    text = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2,3] x) => (float[2,3] y) {
      t = Transpose <perm = [1, 0]> (x)  h = Transpose <perm = [1, 0]> (t)
      k = local.Twice <factor = 2.5> (h)  u = Relu(k)  y = Relu(u) }
    <domain: "local", opset_import: ["" : 17]> Twice <factor> (a) => (b)
    { c = Constant <value_float: float = @factor> ()  b = Mul(a, c) }"""
    done = rewrite(text)
    assert done.rules
    assert list(done.after.functions) == list(done.before.functions)
    assert done.types[0] == "Twice"
    done.check({"x": X})


def test_bodies_of_if_with_captured_values(rewrite):
    done = rewrite(
        plain(
            """k = Relu(h)
            y = If (c) <then_branch = p () => (float[2,3] u) { u = Add(k, h) },
                        else_branch = q () => (float[2,3] v) { v = Mul(h, x) }>""",
            "bool c, float[2,3] x",
        )
    )
    assert done.rules and done.types == ["Relu", "If"]
    done.check({"c": np.array(True), "x": X}, {"c": np.array(False), "x": X})


def test_bodies_of_loop_with_captured_values(rewrite):
    done = rewrite(
        plain(
            """y = Loop (n, go, h) <body = b (int64 i, bool on, float[2,3] s) => (bool more, float[2,3] r)
                { more = Identity(on)  r = Add(s, h) }>""",
            "float[2,3] x, int64 n, bool go",
        )
    )
    assert done.rules and done.types == ["Loop"]
    done.check(*({"x": X, "n": np.array(count), "go": np.array(True)} for count in (0, 1, 4)))


def test_bodies_of_scan_with_captured_values(rewrite):
    text = plain(
        """f, y = Scan <num_scan_inputs = 1, body = b (float[3] s, float[3] e) => (float[3] n, float[3] o)
            { a = Add(s, e)  n = Mul(a, w)  o = Identity(n) }> (z, h)""",
        "float[2,3] x, float[3] z",
        "float[3] f, float[2,3] y",
    )
    done = rewrite(text, {"w": (3,)})
    assert done.rules and done.types == ["Scan"]
    done.check({"x": X, "z": X[0]})


def test_operators_of_other_domains(rewrite):
    head = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
    done = rewrite(plain("k = com.microsoft.Gelu(h)  y = com.microsoft.QuickGelu <alpha = 1.5> (k)", head=head))
    assert done.rules and done.types == ["Gelu", "QuickGelu"]
    assert [node.domain for node in done.after.graph.node] == ["com.microsoft"] * 2
    done.check({"x": X})


def test_outputs_without_a_type(rewrite):
    done = rewrite(plain("y = Relu(h)  c = Shape(h)", outputs="float[2,3] y, c"))
    assert done.rules
    assert not done.after.graph.output[1].HasField("type")
    done.check({"x": X})


def test_operators_that_nobody_knows(rewrite):
    head = '<ir_version: 8, opset_import: ["" : 17, "secret" : 4]>'
    done = rewrite(
        plain('y, z = secret.Thing <text = "a", many = [1, 2]> (h, , h)', outputs="float[2,3] y, z", head=head)
    )
    assert done.rules
    (node,) = done.after.graph.node
    assert (node.domain, list(node.input), list(node.output)) == ("secret", ["x", "", "x"], ["y", "z"])
    assert list(node.attribute) == list(done.before.graph.node[-1].attribute)


def test_quantizing_and_dequantizing_pairs(rewrite):
    done = rewrite(
        HEAD
        + """g (float[2,3] x) => (float[2,3] y) <float s = {0.05}, int8 z = {3}> {
        t = Transpose <perm = [1, 0]> (x)  h = Transpose <perm = [1, 0]> (t)
        q = QuantizeLinear(h, s, z)  d = DequantizeLinear(q, s, z)  m = MatMul(d, w)
        p = QuantizeLinear(m, s, z)  y = DequantizeLinear(p, s, z) }""",
        {"w": (3, 3)},
    )
    assert done.rules
    assert done.types == ["QuantizeLinear", "DequantizeLinear", "MatMul", "QuantizeLinear", "DequantizeLinear"]
    done.check({"x": X}, exact=True)


def test_random_operators_are_neither_folded_nor_merged_nor_seeded(rewrite):
    done = rewrite(plain("a = RandomNormalLike(h)  b = RandomNormalLike(h)  c = Sub(a, b)  y = Add(c, h)"))
    assert done.rules
    assert done.types == ["RandomNormalLike", "RandomNormalLike", "Sub", "Add"]
    assert not any(node.attribute for node in done.after.graph.node)


def test_seeded_random_operators_draw_the_same_numbers(rewrite):
    done = rewrite(plain("a = RandomUniformLike <seed = 7.0> (h)  y = Add(a, h)"))
    assert done.rules and done.types == ["RandomUniformLike", "Add"]
    done.check({"x": X}, exact=True)


def test_dropout_in_training_mode(rewrite):
    done = rewrite(
        plain("y, m = Dropout <seed = 5> (h, r, on)", "float[2,3] x, float r, bool on", "float[2,3] y, bool[2,3] m")
    )
    assert done.rules and done.types == ["Dropout"]
    done.check({"x": X, "r": np.array(0.5, np.float32), "on": np.array(True)}, exact=True)


def test_sequences(rewrite):
    done = rewrite(
        plain(
            "s = SequenceConstruct(h, x)  u = SequenceInsert(s, h)  n = SequenceLength(u)"
            "  y = ConcatFromSequence <axis = 0> (u)",
            outputs="float[6,3] y, int64 n, seq(float[2,3]) u",
        )
    )
    assert done.rules and "Transpose" not in done.types
    done.check({"x": X})


def test_optional_values(rewrite):
    done = rewrite(
        plain(
            "o = Optional(h)  e = OptionalHasElement(o)  y = OptionalGetElement(o)",
            outputs="float[2,3] y, bool e",
            head='<ir_version: 8, opset_import: ["" : 18]>',
        )
    )
    assert done.rules and done.types == ["Optional", "OptionalHasElement", "OptionalGetElement"]
    done.check({"x": X})


def test_strings(rewrite):
    done = rewrite(
        plain(
            "y = Relu(h)  k = Equal(s, w)  c = Concat <axis = 0> (s, w)",
            "float[2,3] x, string[2] s",
            "float[2,3] y, bool[2] k, string[4] c",
            head='<ir_version: 8, opset_import: ["" : 19]>',
        ).replace("{", '<string[2] w = {"a", "ü"}> {', 1)
    )
    assert done.rules
    done.check({"x": X, "s": np.array(["a", "b"], object)})


def test_sparse_initializers(rewrite):
    proto = parser.parse_model(plain("y = MatMul(h, w)", outputs="float[2,3] y"))
    values = numpy_helper.from_array(np.array([2, -1], np.float32), "w")
    indices = numpy_helper.from_array(np.array([1, 8], np.int64), "w_indices")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3, 3]))
    done = rewrite(proto)
    assert done.rules
    assert list(done.after.graph.sparse_initializer) == list(proto.graph.sparse_initializer)
    done.check({"x": X})


@pytest.mark.parametrize("code", [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE])
def test_float16_bfloat16_and_float64(rewrite, code):
    text = f"a = Cast <to = {code}> (h)  b = Cast <to = 1> (a)  y = Relu(b)  c = Transpose <perm = [1, 0]> (a)"
    text += "  e = Cast <to = 1> (c)"
    done = rewrite(plain(text, outputs="float[2,3] y, float[3,2] e"))
    assert done.rules and done.types.count("Cast") == 3
    done.check({"x": X}, exact=True)


@pytest.mark.parametrize("code", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2])
def test_eight_bit_floats(rewrite, code):
    done = rewrite(
        plain(f"a = Cast <to = {code}> (h)  y = Cast <to = 1> (a)", head='<ir_version: 9, opset_import: ["" : 19]>')
    )
    assert done.rules and done.types == ["Cast", "Cast"]
    done.check({"x": X}, exact=True)


def test_eight_bit_integers(rewrite):
    done = rewrite(
        plain(
            "a = MatMulInteger(i, k)  y = Relu(h)",
            "float[2,3] x, int8[2,3] i, uint8[3,2] k",
            "float[2,3] y, int32[2,2] a",
        )
    )
    assert done.rules
    done.check(
        {"x": X, "i": np.arange(6, dtype=np.int8).reshape(2, 3), "k": np.arange(6, dtype=np.uint8).reshape(3, 2)},
        exact=True,
    )


@pytest.mark.parametrize("code", [TensorProto.INT4, TensorProto.UINT4])
def test_four_bit_integers(rewrite, code):
    proto = parser.parse_model(
        plain(
            "d = DequantizeLinear(q, s)  y = MatMul(h, d)",
            outputs="float[2,3] y",
            head='<ir_version: 10, opset_import: ["" : 21]>',
        )
    )
    proto.graph.initializer.append(
        helper.make_tensor("q", code, [3, 3], range(9) if code == TensorProto.UINT4 else range(-4, 5))
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "s"))
    done = rewrite(proto)
    assert done.rules
    assert list(done.after.graph.initializer) == list(proto.graph.initializer)
    done.check({"x": X}, exact=True)


def test_values_that_are_used_and_are_outputs(rewrite):
    done = rewrite(plain("k = Relu(h)  y = Tanh(k)", outputs="float[2,3] h, float[2,3] k, float[2,3] y, float[3,2] t"))
    assert {"h", "k", "y", "t"} == set(done.check({"x": X}))
    assert done.rules


def test_inputs_that_are_outputs(rewrite):
    done = rewrite(plain("y = Relu(h)", "float[2,3] x, int64[2] i", "float[2,3] y, int64[2] i, float[2,3] x"))
    assert done.rules
    assert [value.name for value in done.after.graph.output] == ["y", "i", "x"]
    done.check({"x": X, "i": np.array([4, 5])}, exact=True)


def test_initializers_that_are_outputs(rewrite):
    done = rewrite(plain("y = MatMul(h, w)", outputs="float[2,3] y, float[3,3] w"), {"w": (3, 3)})
    assert done.rules
    assert [value.name for value in done.after.graph.output] == ["y", "w"]
    done.check({"x": X})


def test_graphs_without_nodes(rewrite):
    done = rewrite(HEAD + "g (float[2,3] x) => (float[2,3] x) { }")
    assert done.output.read_bytes() == done.path.read_bytes()


def test_weights_shared_by_several_nodes(rewrite):
    done = rewrite(
        HEAD
        + """g (float[2,3] x) => (float[2,4] y, float[2,4] z) {
        t = Transpose <perm = [1, 0]> (x)  h = Transpose <perm = [1, 0]> (t)
        a = MatMul(h, w)  b = Softmax(h)  c = MatMul(b, w)  y = Relu(a)  z = Erf(c) }""",
        {"w": (3, 4)},
    )
    assert done.rules
    assert [tensor.name for tensor in done.after.graph.initializer] == ["w"]
    done.check({"x": X})


def test_the_same_value_twice_in_one_node(rewrite):
    done = rewrite(plain("a = Pow(h, h)  b = Abs(a)  y = Where(c, b, b)", "float[2,3] x, bool[2,3] c"))
    assert done.rules
    assert list(done.node("Where")[1].input) == ["c", "b", "b"]
    done.check({"x": np.abs(X), "c": X > 0})


def test_empty_optional_inputs_and_outputs(rewrite):
    done = rewrite(
        plain(
            "y = Clip(h, , m)  u, , c = LSTM <hidden_size = 4> (s, w, r)",
            "float[2,3] x, float m, float[5,1,3] s",
            "float[2,3] y, c",
        ),
        {"w": (1, 16, 3), "r": (1, 16, 4)},
    )
    assert done.rules
    assert list(done.node("Clip")[1].input) == ["x", "", "m"]
    assert list(done.node("LSTM")[1].output)[1:] == ["", "c"]
    done.check({"x": X, "m": np.array(0.3, np.float32), "s": np.ones((5, 1, 3), np.float32)})


def test_external_data(rewrite):
    def apart(proto, path):
        onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)

    done = rewrite(plain("a = MatMul(h, w)  y = Relu(a)", outputs="float[2,64] y"), {"w": (3, 64)}, prepare=apart)
    assert done.rules
    assert list(done.after.graph.initializer) == list(done.before.graph.initializer)
    assert done.after.graph.initializer[0].data_location == TensorProto.EXTERNAL
    done.check({"x": X})


def test_constant_nodes_and_initializers_keep_their_form(rewrite):
    done = rewrite(
        plain("k = Constant <value_floats = [1.0, 2.0, 3.0]> ()  a = Mul(h, k)  y = Div(a, w)", outputs="float[2,3] y"),
        {"w": (3,)},
    )
    assert done.rules and "Constant" in done.types
    assert [tensor.name for tensor in done.after.graph.initializer] == ["w"]
    done.check({"x": X})


def test_types_stated_for_inner_values(rewrite):
    proto = parser.parse_model(plain("a = Erf(h)  y = Relu(a)"))
    proto.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 3]))
    proto.graph.quantization_annotation.add(tensor_name="a").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="s"
    )
    done = rewrite(proto)
    assert done.rules
    assert list(done.after.graph.value_info) == list(proto.graph.value_info)
    assert list(done.after.graph.quantization_annotation) == list(proto.graph.quantization_annotation)


def test_files_whose_nodes_are_not_in_order(rewrite):
    proto = parser.parse_model(plain("a = Erf(h)  b = Relu(a)  y = Tanh(b)"))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(proto.graph.node)]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    done = rewrite(proto)
    assert done.rules and done.types == ["Erf", "Relu", "Tanh"]
    done.check({"x": X})


def test_nodes_kept_with_their_names_and_attributes(rewrite):
    proto = parser.parse_model(plain("a = Softmax <axis = 0> (h)  y = Celu <alpha = 0.3> (a)"))
    for number, node in enumerate(proto.graph.node):
        node.name = f"layer {number}"
    done = rewrite(proto)
    assert done.rules
    assert [node.name for node in done.after.graph.node] == ["layer 2", "layer 3"]
    assert [list(node.attribute) for node in done.after.graph.node] == [
        list(node.attribute) for node in proto.graph.node[2:]
    ]
    done.check({"x": X}, exact=True)
