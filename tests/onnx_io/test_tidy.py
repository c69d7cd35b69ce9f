"""The clean-up of models with control flow: what it removes, what it must leave alone, and what it keeps."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import deciding_values, has_plain_bodies, signature
from taso_opt.onnx_io.tidying.tidy import tidied

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
X = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
BY_RANK = """
s = Shape(x)  n = Size(s)  two = Constant <value_int = 2> ()  c = Equal(n, two)
y = If (c) <then_branch = p () => (float[a, b] u) { u = Relu(x) },
            else_branch = q () => (float[a, b] v) { v = Neg(x) }>"""


def model(body, inputs="float[a, b] x", outputs="float[a, b] y", head=HEAD, after=""):
    return parser.parse_model(f"{head} g ({inputs}) => ({outputs}) {{ {body} }} {after}")


def run(proto, feed):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feed)


def cleaned(proto, *feeds):
    """What is left of a model, checked by ONNX and run beside it."""
    assert has_plain_bodies(proto)
    before = proto.SerializeToString(deterministic=True)
    found = tidied(proto)
    assert proto.SerializeToString(deterministic=True) == before
    assert found is not None
    onnx.checker.check_model(found.model)
    assert signature(found.model) == signature(proto)
    for feed in feeds:
        for one, other in zip(run(proto, feed), run(found.model, feed), strict=True):
            np.testing.assert_array_equal(one, other)
    return found


def kinds(proto):
    return [node.op_type for node in proto.graph.node]


def inner(proto, kind):
    """The operators in the bodies of the one node of that type."""
    (node,) = [node for node in proto.graph.node if node.op_type == kind]
    return [[one.op_type for one in entry.g.node] for entry in node.attribute if entry.HasField("g")]


def test_an_if_that_the_rank_of_an_input_decides_becomes_its_branch():
    found = cleaned(model(BY_RANK), {"x": X}, {"x": X[:1]})
    assert kinds(found.model) == ["Relu"] and not found.rests_on_ranks


def test_an_if_with_a_constant_condition_becomes_its_branch_and_the_weights_of_the_other_go():
    proto = model(
        """c = Constant <value_int = 0> ()  k = Cast <to = 9> (c)
        y = If (k) <then_branch = p () => (float[a, b] u) <float[1] w = {2}> { u = Mul(x, w) },
                    else_branch = q () => (float[a, b] v) <float[1] w = {3}> { v = Mul(x, w) }>"""
    )
    found = cleaned(proto, {"x": X})
    assert kinds(found.model) == ["Mul"]
    assert [numpy_helper.to_array(tensor).item() for tensor in found.model.graph.initializer] == [3]


def test_nested_ifs_are_decided_one_by_one_within_an_if_that_is_not():
    proto = model(
        """y = If (go) <then_branch = p () => (float[a, b] u) {
             s = Shape(x)  n = Size(s)  one = Constant <value_int = 1> ()  c = Equal(n, one)
             k = If (c) <then_branch = p1 () => (float[b] r) { r = Identity(x) },
                         else_branch = q1 () => (float[a, b] r2) { r2 = Tanh(x) }>
             s2 = Shape(k)  n2 = Size(s2)  d = Equal(n2, one)  e = Not(d)
             u = If (e) <then_branch = p2 () => (float[a, b] t) { t = Relu(k) },
                         else_branch = q2 () => (float[a, b] t2) { t2 = Neg(k) }> },
           else_branch = q () => (float[a, b] v) { i = Identity(x)  v = Neg(i) }>""",
        "bool go, float[a, b] x",
    )
    found = cleaned(proto, {"x": X, "go": np.array(True)}, {"x": X, "go": np.array(False)})
    assert kinds(found.model) == ["If"]
    assert sorted(inner(found.model, "If")) == [["Neg"], ["Tanh", "Relu"]]


def test_a_rank_that_only_the_file_states_is_used_and_told():
    squeezed = """d = Constant <value_ints = [1]> ()  s = Shape(x)  m = Gather <axis = 0> (s, d)
        one = Constant <value_ints = [1]> ()  c = Equal(m, one)
        k = If (c) <then_branch = p () => (u) { u = Squeeze(x, d) }, else_branch = q () => (v) { v = Identity(x) }>
        s2 = Shape(k)  n2 = Size(s2)  w = Constant <value_int = 1> ()  e = Equal(n2, w)
        y = If (e) <then_branch = p2 () => (t) { t = Relu(k) }, else_branch = q2 () => (t2) { t2 = Neg(k) }>"""
    proto = model(squeezed, outputs="y")
    assert tidied(proto) is None
    proto.graph.value_info.append(helper.make_tensor_value_info("k", TensorProto.FLOAT, [7]))
    found = tidied(proto)
    assert found is not None and found.rests_on_ranks
    assert kinds(found.model).count("If") == 1 and kinds(found.model)[-1] == "Relu"


def test_sizes_that_the_file_states_of_inner_values_are_not_believed():
    proto = model(
        """h = Relu(x)  s = Shape(h)  z = Constant <value_ints = [0]> ()  m = Gather <axis = 0> (s, z)
        two = Constant <value_ints = [2]> ()  c = Equal(m, two)
        y = If (c) <then_branch = p () => (float[a, b] u) { i = Identity(h)  u = Relu(i) },
                    else_branch = q () => (float[a, b] v) { v = Neg(h) }>"""
    )
    proto.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, 3]))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3]))
    found = cleaned(proto, {"x": X}, {"x": X[:1]})
    assert "If" in kinds(found.model) and sorted(inner(found.model, "If")) == [["Neg"], ["Relu"]]


def test_a_default_that_callers_may_override_decides_nothing():
    proto = model(
        """i = Identity(x)  y = If (c) <then_branch = p () => (float[a, b] u) { j = Identity(i)  u = Relu(j) },
                                        else_branch = q () => (float[a, b] v) { v = Neg(i) }>""",
        "float[a, b] x, bool[1] c",
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array([True]), "c"))
    found = cleaned(proto, {"x": X}, {"x": X, "c": np.array([False])})
    assert kinds(found.model) == ["If"]
    assert [tensor.name for tensor in found.model.graph.initializer] == ["c"]


@pytest.mark.parametrize("seed", ["", "<seed = 3.0>"])
def test_random_operators_stay(seed):
    kind = f"RandomUniform <shape = [2, 3]{', seed = 3.0' if seed else ''}>"
    proto = model(f"{BY_RANK.replace('y =', 'z =')}  r = {kind} ()  t = {kind} ()  d = Sub(r, t)  y = Add(z, d)")
    found = tidied(proto)
    assert found is not None
    assert kinds(found.model) == ["Relu", "RandomUniform", "RandomUniform", "Sub", "Add"]


def test_draws_from_constants_and_dropout_in_training_are_not_folded():
    drawn = "h = Constant <value_floats = [0.5, 0.5]> ()  r = Bernoulli(h)  b = Cast <to = 1> (r)"
    trained = "on = Constant <value_int = 1> ()  t = Cast <to = 9> (on)  f = Constant <value_float = 0.5> ()"
    proto = model(
        f"{BY_RANK.replace('y =', 'z =')} {drawn} {trained}  m = Dropout(z, f, t)  y = ReduceSum(b)  k = Identity(m)",
        outputs="y, float[a, b] k",
    )
    found = tidied(proto)
    assert found is not None
    assert {"Bernoulli", "Dropout"} <= set(kinds(found.model)) and "If" not in kinds(found.model)


def test_a_model_that_would_lose_a_draw_is_refused():
    proto = model(BY_RANK.replace("v = Neg(x)", "v = RandomNormalLike(x)"))
    with pytest.raises(UnsupportedError, match="as many random operators after the clean-up as before"):
        tidied(proto)


def test_a_body_keeps_what_it_captures_and_names_that_several_scopes_use_are_told_apart():
    proto = model(
        f"""{BY_RANK.replace("y =", "k =").replace("u = Relu(x)", "t = Relu(x)  u = Tanh(t)")}  h = Sigmoid(x)
        y = If (go) <then_branch = p3 () => (float[a, b] r) {{ t = Identity(k)  r = Add(t, h) }},
                     else_branch = q3 () => (float[a, b] w) {{ t = Relu(h)  w = Mul(k, t) }}>""",
        "bool go, float[a, b] x",
    )
    found = cleaned(proto, {"x": X, "go": np.array(True)}, {"x": X, "go": np.array(False)})
    assert sorted(kinds(found.model)) == ["If", "Relu", "Sigmoid", "Tanh"]
    assert sorted(inner(found.model, "If")) == [["Add"], ["Relu", "Mul"]]


def test_a_loop_is_cleaned_inside_and_its_state_may_change_its_size():
    proto = model(
        """y = Loop (n, , x) <body = l (int64 i, bool on, float[1, 3] s) => (bool more, float[1, 3] r) {
             h = Shape(s)  z = Constant <value_ints = [0]> ()  m = Gather <axis = 0> (h, z)  o = Identity(m)
             one = Constant <value_ints = [1]> ()  big = Greater(o, one)  f = Cast <to = 1> (big)
             g = Mul(s, f)  r = Concat <axis = 0> (s, g)  more = Identity(on) }>""",
        "float[1, 3] x, int64 n",
        "float[m, 3] y",
    )
    found = cleaned(proto, *({"x": X[:1], "n": np.array(turns)} for turns in (0, 1, 4)))
    (body,) = inner(found.model, "Loop")
    assert body.count("Identity") < 2 and {"Greater", "Shape"} <= set(body)


def test_a_difference_of_sizes_may_be_negative():
    proto = model(
        f"""{BY_RANK.replace("y =", "z =")}  i = Constant <value_ints = [0]> ()  m = Gather <axis = 0> (s, i)
        five = Constant <value_ints = [-5]> ()  d = Add(m, five)  e = Abs(d)  f = Cast <to = 1> (e)  y = Add(z, f)"""
    )
    assert "Abs" in kinds(cleaned(proto, {"x": X}).model)


def test_a_row_of_a_table_of_sizes_is_a_row():
    proto = model(
        f"""{BY_RANK.replace("y =", "z =")}  four = Concat <axis = 0> (s, s)  r = Constant <value_ints = [2, 2]> ()
        k = Identity(r)  t = Reshape(four, k)  i = Constant <value_ints = [1]> ()  e = Gather <axis = 0> (t, i)
        f = Cast <to = 1> (e)  g = ReduceSum <keepdims = 0> (f)  y = Add(z, g)""",
        "float[a, 3] x",
        "float[a, 3] y",
    )
    cleaned(proto, {"x": X})


def test_functions_metadata_and_unused_opsets_stay():
    proto = model(
        BY_RANK.replace("y =", "z =") + " k = own.Twice(z)  y = Identity(k)",
        head='<ir_version: 8, opset_import: ["" : 17, "own" : 1, "unused" : 4]>',
        after='<domain: "own", opset_import: ["" : 17]> Twice (p) => (r) { t = Identity(p)  r = Add(t, t) }',
    )
    proto.doc_string = proto.graph.doc_string = "said"
    proto.metadata_props.add(key="k", value="v")
    found = cleaned(proto, {"x": X})
    assert kinds(found.model)[:2] == ["Relu", "Twice"]
    assert found.model.functions == proto.functions


def test_a_model_without_control_flow_or_with_parts_elsewhere_is_not_for_it():
    assert not has_plain_bodies(model("t = Identity(x)  y = Relu(t)"))
    old = model(BY_RANK)
    old.ir_version = 3
    assert not has_plain_bodies(old)
    outside = model(BY_RANK)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    outside.graph.initializer.append(tensor)
    assert not has_plain_bodies(outside)


def test_a_model_with_nothing_to_clean_stays():
    proto = model(
        """y = If (go) <then_branch = p () => (float[a, b] u) { u = Relu(x) },
                        else_branch = q () => (float[a, b] v) { v = Neg(x) }>""",
        "bool go, float[a, b] x",
    )
    assert tidied(proto) is None


def test_values_that_decide_are_found_in_bodies_and_on_both_sides():
    proto = model(
        """c = Equal(k, n)
        y = If (go) <then_branch = p () => (float[a, b] u) { e = Constant <value = int64 {9}> ()
                         d = Less(e, k)  i = Cast <to = 1> (d)  u = Mul(x, i) },
                     else_branch = q () => (float[a, b] v) { v = Neg(x) }>""".replace("{", "{", 1),
        "bool go, float[a, b] x, int64 k",
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array(16000), "n"))
    assert sorted(deciding_values(proto)) == [("go", 0.0), ("go", 1.0), ("k", 9.0), ("k", 16000.0)]


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**53 + 1])
def test_whole_numbers_that_decide_are_exact(number):
    held, attribute = model("y = Less(k, n)", "int64 k"), model("n = Constant()  y = Less(k, n)", "int64 k")
    held.graph.initializer.append(numpy_helper.from_array(np.array(number), "n"))
    attribute.graph.node[0].attribute.append(helper.make_attribute("value_int", number))
    assert deciding_values(held) == deciding_values(attribute) == [("k", number)]


def test_an_operator_of_somebodys_own_decides_nothing_whatever_its_name():
    proto = model("y = my.If()  z = my.Equal(k, n)", "int64 k")
    proto.graph.initializer.append(numpy_helper.from_array(np.array(3), "n"))
    assert deciding_values(proto) == []
