"""The fidelity matrix of the clean-up: one test a feature, each in a model with an If that the clean-up decides."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from taso_opt.onnx_io import has_plain_bodies, signature
from taso_opt.onnx_io.tidying.tidy import tidied

X = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
DECIDED = """s = Shape(x)  n = Size(s)  two = Constant <value_int = 2> ()  c = Equal(n, two)
    h = If (c) <then_branch = p () => (float[m, k] u) { i = Identity(x)  u = Relu(i) },
                else_branch = q () => (float[m, k] v) { v = Neg(x) }>  """
"""h is Relu(x)."""


def plain(body, inputs="float[m, k] x", outputs="float[m, k] y", head=HEAD):
    return f"{head} g ({inputs}) => ({outputs}) {{ {DECIDED} {body} }}"


@pytest.fixture
def clean(tmp_path, same_outputs):
    """Clean a model up, check that it kept its signature and computes the same on each feed; the result."""

    def cleaned(model, *feeds):
        proto = parser.parse_model(model) if isinstance(model, str) else model
        assert has_plain_bodies(proto)
        found = tidied(proto)
        assert found is not None and not found.rests_on_ranks
        assert not any(node.op_type == "If" and node.input[0] == "c" for node in found.model.graph.node)
        assert signature(found.model) == signature(proto)
        onnx.checker.check_model(found.model)
        paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
        for path, content in zip(paths, (proto, found.model), strict=True):
            path.write_bytes(content.SerializeToString())
        for feed in feeds:
            same_outputs(*paths, feed)
        return found.model

    return cleaned


def kinds(proto):
    return [node.op_type for node in proto.graph.node]


def test_names_order_and_symbolic_dims_of_inputs_and_outputs(clean):
    text = plain(
        "a = Tanh(h)  b = Add(a, z)",
        "float[m, k] z, float[m, k] x",
        "float[m, k] b, float[m, k] h, float[m, k] a",
    )
    done = clean(text, {"x": X, "z": X + 1}, {"x": X[:1], "z": X[1:]})
    assert [value.name for value in done.graph.output] == ["b", "h", "a"] and "Relu" in kinds(done)


def test_opset_imports_in_their_order_even_unused_ones(clean):
    head = '<ir_version: 8, opset_import: ["ai.onnx.ml" : 3, "" : 17, "unused.domain" : 9]>'
    done = clean(plain("y = Tanh(h)", head=head), {"x": X})
    assert [(entry.domain, entry.version) for entry in done.opset_import] == [
        ("ai.onnx.ml", 3),
        ("", 17),
        ("unused.domain", 9),
    ]


@pytest.mark.parametrize("version", [4, 7, 8, 9, 10])
def test_the_ir_version(clean, version):
    proto = parser.parse_model(plain("y = Tanh(h)"))
    proto.ir_version = version
    assert clean(proto, {"x": X}).ir_version == version


@pytest.mark.parametrize("opset", [13, 15, 18, 21])
def test_the_opset(clean, opset):
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    assert clean(plain("y = Tanh(h)", head=head), {"x": X}).opset_import[0].version == opset


def test_texts_metadata_and_fields_that_no_version_knows(clean):
    proto = parser.parse_model(plain("y = Tanh(h)"))
    proto.producer_name, proto.producer_version, proto.domain, proto.model_version = "maker", "3.1-β", "org.here", 12
    proto.doc_string, proto.graph.doc_string, proto.graph.node[-1].doc_string = "model\n", "graph\tdoc", "node"
    for place in (proto, proto.graph, proto.graph.node[-1]):
        place.metadata_props.add(key="key", value='{"a": [1]}')
    proto.MergeFromString(b"\xca\x3e\x03abc")
    done = clean(proto, {"x": X})
    assert b"\xca\x3e\x03abc" in done.SerializeToString()
    last = done.graph.node[-1]
    assert last.doc_string == "node" and [(one.key, one.value) for one in last.metadata_props] == [
        ("key", '{"a": [1]}')
    ]


def test_odd_names_of_values_and_nodes(clean):
    proto = parser.parse_model(plain("a = Tanh(h)  y = Sin(a)"))
    odd = {"a": 'b "c" <d>', "y": "\t"}
    for node in proto.graph.node:
        node.input[:] = [odd.get(name, name) for name in node.input]
        node.output[:] = [odd.get(name, name) for name in node.output]
    proto.graph.output[0].name, proto.graph.node[-1].name = odd["y"], "наме\n"
    done = clean(proto, {"x": X})
    assert done.graph.node[-1].name == "наме\n" and list(done.graph.node[-1].input) == [odd["a"]]


def test_overridable_initializers_with_their_default_and_another_value(clean):
    proto = parser.parse_model(plain("y = Mul(h, o)", "float[m, k] x, float[3] o"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1, 2, 3], np.float32), "o"))
    done = clean(proto, {"x": X}, {"x": X, "o": np.array([5, 0, -1], np.float32)})
    assert [tensor.name for tensor in done.graph.initializer] == ["o"]


def test_local_functions_are_neither_changed_nor_put_in_place_of_their_calls(clean):
    text = (
        plain("k = local.Twice <factor = 2.5> (h)  y = Sin(k)", head=HEAD.replace("17]", '17, "local" : 1]'))
        + """<domain: "local", opset_import: ["" : 17]> Twice <factor> (a) => (b)
        { c = Constant <value_float: float = @factor> ()  b = Mul(a, c) }"""
    )
    assert kinds(clean(text, {"x": X}))[-2:] == ["Twice", "Sin"]


def test_operators_of_other_domains_and_with_left_out_operands(clean):
    head = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
    body = "k = com.microsoft.QuickGelu <alpha = 1.5> (h)  y = Clip(k, , top)"
    proto = parser.parse_model(plain(body, head=head))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "top"))
    done = clean(proto, {"x": X})
    assert list(done.graph.node[-1].input) == [*done.graph.node[-2].output, "", "top"]


def test_sequences_strings_and_other_control_flow(clean):
    body = """q = SequenceConstruct(h, x)  y = ConcatFromSequence <axis = 0> (q)  k = Identity(w)
        f = Loop (t, , h) <body = b (int64 i, bool on, float[m, k] s) => (bool more, float[m, k] r)
            { more = Identity(on)  r = Add(s, h) }>"""
    text = plain(body, "float[m, k] x, string[2] w, int64 t", "float[j, k] y, string[2] k, float[m, k] f")
    done = clean(text, *({"x": X, "w": np.array(["a", "ü"], object), "t": np.array(turns)} for turns in (0, 3)))
    assert {"SequenceConstruct", "Loop"} <= set(kinds(done))


def test_the_results_of_a_loop_that_is_not_turned_have_the_stated_sizes(clean):
    body = """f, y = Loop (t, , h) <body = b (int64 i, bool on, float[m, k] s) => (bool more, float[m, k] r, float[3] e)
            { more = Identity(on)  r = Add(s, h)  z = Constant <value_ints = [0]> ()
              e = ReduceSum <keepdims = 0> (r, z) }>"""
    text = plain(body, "float[m, k] x, int64 t", "float[m, k] f, float[j, 3] y")
    clean(text, *({"x": X, "t": np.array(turns)} for turns in (0, 2)))
