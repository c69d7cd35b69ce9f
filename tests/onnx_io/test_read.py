"""Models become terms: known operators through their spellings, everything else opaque."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Const, Item, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import UsageError
from taso_opt.onnx_io import read_model, write_model
from taso_opt.spec import OPAQUE

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def operators(model):
    return [term.operator for term in model.graph.terms() if isinstance(term, Apply)]


def float32(*shape):
    return TensorType("float32", shape)


def test_known_nodes_become_terms_over_variables_and_constants(read):
    model = read(HEAD + "g (float[2,3] x) => (float[2,4] y) { z = MatMul(x, w)  y = Relu(z) }", {"w": (3, 4)})
    op = model.builder
    expected = op.Relu(op.MatMul(Var("x", float32(2, 3)), Const("w", float32(3, 4))))
    assert model.graph.outputs == (expected,)
    assert model.graph.inputs == (Var("x", float32(2, 3)),)
    assert model.origin[expected].value == "y"
    assert model.origin[expected].node == 1


def test_an_unknown_node_is_opaque_and_carries_its_number_and_its_type(read):
    model = read(HEAD + "g (float[2,3] x) => (float[2,3] y) { z = Relu(x)  y = Hardmax <axis = 1> (z) }")
    (opaque,) = model.graph.outputs
    assert opaque.operator == OPAQUE
    assert opaque.attribute("node") == 1
    assert opaque.attribute("types") == (float32(2, 3),)
    assert opaque.args == (model.builder.Relu(Var("x", float32(2, 3))),)


def test_two_equal_random_nodes_are_two_terms_and_two_equal_relus_are_one(read):
    model = read(
        HEAD
        + """g (float[2] x) => (float[2] a, float[2] b, float[2] c, float[2] d)
        { a = RandomNormalLike(x)  b = RandomNormalLike(x)  c = Relu(x)  d = Relu(x) }"""
    )
    a, b, c, d = model.graph.outputs
    assert a is not b
    assert c is d


def test_outputs_of_an_opaque_node_with_several_are_items(read):
    model = read(HEAD + "g (float[4] x, int64[1] k) => (float[1] y, int64[1] i) { y, i = TopK(x, k) }")
    y, i = model.graph.outputs
    assert isinstance(y, Item)
    assert y.term is i.term
    assert (y.index, i.index) == (0, 1)
    assert model.builder.type(i).dtype == "int64"


def test_symbolic_sizes_stay_symbolic_and_dims_without_a_name_differ(read):
    model = read(HEAD + "g (float[N, 3] x, float[?, 3] y, float[?, 3] z) => (float[N, 3] r) { r = Relu(x) }")
    shapes = [model.builder.type(variable).shape for variable in model.graph.inputs]
    assert shapes[0] == (symbol("N"), 3)
    assert shapes[1] != shapes[2]


@pytest.mark.parametrize("name", ["?", "-1", "*", "None", "unknown"])
def test_a_meaningless_dim_name_does_not_make_two_sizes_equal(read, name):
    model = read(_with_dims(("x", [name]), ("y", [name])))
    x, y = (model.builder.type(variable).shape[0] for variable in model.graph.inputs)
    assert x != y


@pytest.mark.parametrize("name", ["a+b", "*batch", "floor((h)/(2))", "p2o.Dim.0", "s0 " * 100, "größe", "'n'"])
def test_any_other_dim_name_is_one_symbol_and_stands_for_itself(read, name):
    model = read(_with_dims(("x", [name]), ("y", [name])), dims={name: 5})
    (x, y) = (model.builder.type(variable).shape[0] for variable in model.graph.inputs)
    assert x == y == symbol(x.symbol)
    assert not x.is_star
    assert model.inputs[0].bound == (5,)
    assert model.inputs[0].shape == (name,)


def _with_dims(*inputs):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs]
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, inputs[0][1])
    node = helper.make_node("Relu", [inputs[0][0]], ["r"])
    graph = helper.make_graph([node], "g", values, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_defaults_for_sizes_depend_on_the_axis_and_the_user_overrides_them(read):
    text = HEAD + "g (float[N, 3, H, W] x, float[M, L] s) => (float[N, 3, H, W] y) { y = Relu(x) }"
    assert dict(read(text).bindings) == {"N": 1, "H": 224, "W": 224, "M": 1, "L": 32}
    bound = read(text, dims={"H": 8, "L": 6})
    assert [value.bound for value in bound.inputs] == [(1, 3, 8, 224), (1, 6)]


def test_an_unknown_or_senseless_binding_is_refused_in_one_sentence(read):
    text = HEAD + "g (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }"
    with pytest.raises(UsageError, match=r"expected the name of a dim of an input \(there are: N\), found 'M'"):
        read(text, dims={"M": 2})
    with pytest.raises(UsageError, match="expected a size from 1 to 2147483647 for dim 'N', found 0"):
        read(text, dims={"N": 0})


def test_sizes_behind_an_unknown_node_get_the_numbers_that_follow_from_the_inputs(read, library):
    model = read(
        HEAD
        + """g (float[1, 4, H, W] x) => (float[1, 4, p, q] y)
        { z = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)  y = Relu(z) }""",
        dims={"H": 9, "W": 20},
    )
    bound = library.builder(model.bindings)
    assert bound.type(model.graph.outputs[0]) == float32(1, 4, 5, 10)


@pytest.mark.parametrize(
    ("attributes", "operator"),
    [
        ('auto_pad = "SAME_UPPER", dilations = [2, 2]', OPAQUE),
        ('auto_pad = "SAME_LOWER", dilations = [1, 2]', OPAQUE),
        ('auto_pad = "SAME_UPPER", dilations = [1, 1]', "MaxPool"),
        ('auto_pad = "VALID", dilations = [2, 2]', "MaxPool"),
        ("pads = [1, 1, 1, 1], dilations = [2, 2]", "MaxPool"),
    ],
)
def test_a_dilated_pool_that_pads_by_itself_stays_opaque_since_the_runtime_pads_otherwise(read, attributes, operator):
    text = f"g (float[1, 3, 9, 9] x) => (float y) {{ y = MaxPool <kernel_shape = [3, 3], {attributes}> (x) }}"
    assert operators(read(HEAD + text)) == [operator]


def test_sizes_that_terms_know_replace_the_names_that_inference_makes_up(read):
    model = read(
        HEAD
        + """g (float[1, 3, H, W] x) => (float y)
        { a = Conv <strides = [2, 2]> (x, w)  b = Sin(a)  y = Add(a, b) }""",
        {"w": (3, 3, 3, 3)},
    )
    assert operators(model) == ["Conv", OPAQUE, "Add"]


def test_stale_shapes_of_inner_values_are_not_believed(read):
    proto = parser.parse_model(
        HEAD + "g (float[N, 3] x) => (float[1, 3] y) <float[1, 3] z> { z = Hardmax(x)  y = Relu(z) }"
    )
    assert proto.graph.value_info[0].name == "z"
    model = read(proto)
    assert model.builder.type(model.graph.outputs[0]) == float32(symbol("N"), 3)


def test_the_shape_of_a_custom_operator_is_believed_since_nothing_else_says_it(read):
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "my.own" : 1]>'
        "g (float[N, 3] x) => (float[N, 5] y) <float[N, 5] z> { z = my.own.Magic(x)  y = Relu(z) }"
    )
    model = read(proto)
    assert operators(model) == [OPAQUE, "Relu"]
    assert model.builder.type(model.graph.outputs[0]) == float32(symbol("N"), 5)


def test_a_value_of_unknown_rank_makes_its_consumers_opaque(read):
    text = HEAD + "g (float x, int64[K] s) => (float z) { y = Reshape(x, s)  z = Relu(y) }"
    proto = parser.parse_model(text)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model = read(proto)
    assert operators(model) == [OPAQUE, OPAQUE]
    assert model.builder.type(model.graph.outputs[0]).dtype == "unknown"


@pytest.mark.parametrize(
    "nodes",
    [
        "y = MatMul(x, v)",  # a vector operand
        "y = Gemm <alpha = 0.5> (x, w)",
        "y = AveragePool <kernel_shape = [1]> (x)",  # ONNX itself refuses to type this
        "s = Cast <to = 7> (v)  y = Reshape(x, s)",  # a shape that is computed from no size
        "i = Cast <to = 7> (x)  j = Relu(x)  y = Add(i, i)  y2 = Mul(x, j)",
    ],
)
def test_what_a_spelling_does_not_cover_is_opaque_and_never_a_crash(read, nodes):
    proto = parser.parse_model(HEAD + f"g (float[2, 3] x) => (float y) {{ {nodes} }}")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model = read(proto, {"v": (3,), "w": (3, 4)})
    assert OPAQUE in operators(model)


def test_what_could_not_be_written_again_is_opaque(read):
    text = "g (float[%s] x) => (float[2,%s] y) <int64[2] s = {2, -1}> { r = Relu(x)  y = Reshape(r, s) }"
    assert operators(read(HEAD + text % (0, 0))) == ["Relu", OPAQUE]
    assert operators(read(HEAD + text % (6, 3))) == ["Relu", "Reshape"]
    text = "g (float[N,3,M] x) => (float[N,K] y) <int64[2] s = {0, -1}> { r = Relu(x)  y = Reshape(r, s) }"
    assert operators(read(HEAD + text)) == ["Relu", "Reshape"]


def test_gemm_is_read_as_its_parts_and_the_node_is_the_origin_of_the_sum(read):
    text = HEAD + "g (float[2, 3] x) => (float[2, 4] y) { y = Gemm <transB = 1> (x, w, b) }"
    model = read(text, {"w": (4, 3), "b": (4,)})
    assert sorted(operators(model)) == ["Add", "MatMul", "Transpose"]
    assert model.origin[model.graph.outputs[0]].node == 0


@pytest.mark.parametrize(("node", "operator"), [("Sum", "Add"), ("Max", "Max"), ("Min", "Min")])
def test_any_number_of_operands_is_read_as_two_at_a_time(read, node, operator):
    head = HEAD + "g (float[2, 3] x, float[3] y, float[2, 1] z) => (float[2, 3] o) "
    model = read(head + f"{{ o = {node}(x, y, z) }}")
    op, (x, y, z) = model.builder, model.graph.inputs
    assert model.graph.outputs == (op.apply(operator, (op.apply(operator, (x, y), {}), z), {}),)
    assert model.origin[model.graph.outputs[0]].node == 0


def test_identity_and_dropout_disappear_but_a_used_mask_or_training_keeps_dropout(read):
    text = (
        HEAD
        + """g (float[2] x) => (float[2] a, float[2] b, float[2] c, bool[2] m, float[2] d)
        { i = Identity(x)  a = Relu(i)  j = Dropout(x)  b = Relu(j)  c, m = Dropout(x)  d = Dropout(x, r, t) }"""
    )
    proto = parser.parse_model(text)
    proto.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "r"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "t"))
    a, b, c, _, d = read(proto).graph.outputs
    assert a is b
    assert isinstance(c, Item)
    assert d.operator == OPAQUE


def test_a_cast_to_the_type_that_is_there_disappears(read):
    x, h = read(
        HEAD
        + """g (float[2] x, float16[2] h) => (float[2] a, float[2] b)
        { c = Cast <to = 1> (x)  d = CastLike(c, x)  a = Relu(d)  e = CastLike(h, x)  b = Cast <to = 1> (e) }"""
    ).graph.outputs
    assert (x.operator, x.args[0].name) == ("Relu", "x")
    assert h.operator == OPAQUE and [operand.name for operand in h.args] == ["h", "x"]


def test_equal_small_constants_are_one_term(read):
    model = read(
        HEAD
        + """g (float[2] x) => (float[2] a, float[2] b)
        { p = Constant <value = float[1] {0.5}> ()  q = Constant <value = float[1] {0.5}> ()
          a = Mul(x, p)  b = Mul(x, q) }"""
    )
    a, b = model.graph.outputs
    assert a is b
    assert model.constant("p").tolist() == [0.5]


def test_axes_of_one_element_that_a_constant_begins_with_are_left_away_where_it_is_repeated_anyway(read):
    model = read(
        HEAD
        + """g (float[2,3,4,4] x, float[3] z) => (float[2,3,4,4] a, float[2,3,4,4] b, float[1,1,3] c, float[2,3,4,4] d)
        { a = Mul(x, s)  b = Sub(n, a)  c = Add(z, t)  d = Div(a, o) }""",
        {"s": (1, 3, 1, 1), "n": (1, 1, 1, 1), "t": (1, 1, 3), "o": (3, 1, 1)},
    )
    a, b, c, d = model.graph.outputs
    sizes = {const.name: model.builder.type(term).shape for term in (a, b, c, d) for const, term in constants_of(term)}
    assert sizes == {"s": (3, 1, 1), "n": (), "t": (1, 1, 3), "o": (3, 1, 1)}
    assert model.number(b.args[0]) == model.number(Const("n", float32(1, 1, 1, 1)))


def test_axes_of_one_element_that_a_node_gives_a_constant_are_left_away_too(read):
    text = """g (float[2,1,5] x) => (float[2,3,5] y, float[2,3,5] z)
    { c = Unsqueeze(w, a)  y = Sub(x, c)  v = Reshape(w, b)  z = Add(x, v) }"""
    proto = parser.parse_model(HEAD + text)
    for name, values in (("a", [0]), ("b", [1, 3, 5])):
        proto.graph.initializer.append(numpy_helper.from_array(np.array(values), name))
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((3, 5), np.float32), "w"))
    weight = Const("w", float32(3, 5))
    assert [weight in term.args for term in read(proto).graph.outputs] == [True, True]


def test_axes_of_one_element_that_a_computed_constant_begins_with_are_left_away_too(read):
    text = HEAD + "g (float[2,3,4,4] x) => (float[2,3,4,4] y) { d = Sqrt(v)  y = Div(x, d) }"
    model = read(text, {"v": (1, 3, 1, 1)})
    (y,) = model.graph.outputs
    assert model.builder.type(y.args[1]).shape == (3, 1, 1)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_the_first_power_is_what_it_is_taken_of(read):
    model = read(HEAD + "g (float[2,3] x) => (float[2,3] y) <float p = {1.0}> { a = Pow(x, p)  y = Relu(a) }")
    (y,), (x,) = model.graph.outputs, model.graph.inputs
    assert y.args == (x,)


def test_what_a_node_passes_on_may_be_a_result_that_no_specification_covers(read):
    text = HEAD + "g (float[2,3] x, float[2,3] z) => (float[2,3] y) { a = BitShiftLike(x, z)  y = Slice(a, s, e) }"
    proto = parser.parse_model(text.replace("BitShiftLike", "Mod <fmod = 1>"))
    for name, values in (("s", [0]), ("e", [2])):
        proto.graph.initializer.append(numpy_helper.from_array(np.array(values), name))
    (y,) = read(proto).graph.outputs
    assert y.operator == OPAQUE and len(y.args) == 2


def test_a_constant_condition_loses_leading_axes_too(read):
    text = HEAD + "g (float[2,3] x) => (float[2,3] y) <bool[1,3] c = {1, 0, 1}> { y = Where(c, x, n) }"
    model = read(text, {"n": (1, 1)})
    (y,) = model.graph.outputs
    assert [model.builder.type(term).shape for term in y.args] == [(3,), (2, 3), ()]
    assert model.folded(y.args[0]).tolist() == [True, False, True]


def constants_of(term):
    """The constants among the operands of an operation, each with how it stands there."""
    below = [(operand.args[0] if isinstance(operand, Apply) else operand, operand) for operand in term.args]
    return [(const, operand) for const, operand in below if isinstance(const, Const)]


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("value_float = 2.5", np.float32(2.5)),
        ("value_floats = [1.0, 2.0]", np.array([1, 2], np.float32)),
        ("value_int = 7", np.int64(7)),
        ("value_ints = [1, 2, 3]", np.array([1, 2, 3])),
        ("value = double[2] {1, 2}", np.array([1.0, 2.0])),
    ],
)
def test_every_form_of_constant_node_has_a_value(read, attribute, expected):
    proto = parser.parse_model(HEAD + f"g () => (float c) {{ c = Constant <{attribute}> () }}")
    kind = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.asarray(expected).dtype), expected.shape)
    proto.graph.output[0].type.CopyFrom(kind)
    model = read(proto)
    (term,) = model.graph.outputs
    assert isinstance(term, Const)
    value = model.constant("c")
    assert value.dtype == expected.dtype
    assert np.array_equal(value, expected)


@pytest.mark.parametrize(("ir_version", "kind"), [(3, Const), (8, Var)])
def test_an_initializer_that_is_an_input_is_fixed_only_in_old_files(read, ir_version, kind):
    proto = parser.parse_model(
        f'<ir_version: {ir_version}, opset_import: ["" : 8]> g (float[2,3] x, float[3,3] w) => (float[2,3] y) '
        "{ y = MatMul(x, w) }"
    )
    model = read(proto, {"w": (3, 3)})
    weight = next(term for term in model.graph.terms() if getattr(term, "name", "") == "w")
    assert isinstance(weight, kind)
    assert [value.name for value in model.inputs] == ["x"]
    assert model.constant("w").shape == (3, 3)


def test_a_reshape_does_not_trust_a_shape_that_a_caller_may_override(read):
    proto = parser.parse_model(HEAD + "g (float[2, 6] x, int64[2] s) => (float[?, ?] y) { y = Reshape(x, s) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([3, 4]), "s"))
    model = read(proto)
    assert operators(model) == [OPAQUE]
    assert not model.builder.type(model.graph.outputs[0]).is_static


def test_large_weights_do_not_reach_shape_inference_but_types_do(read, monkeypatch):
    sizes = []
    original = onnx.shape_inference.infer_shapes

    def spy(model, *args, **kwargs):
        sizes.append(model.ByteSize())
        return original(model, *args, **kwargs)

    monkeypatch.setattr("taso_opt.onnx_io.sizes.inference.shape_inference.infer_shapes", spy)
    text = HEAD + "g (float[2, 512] x) => (float[2, 512] y) { y = MatMul(x, w)  }"
    model = read(text, {"w": (512, 512)})
    assert model.proto.ByteSize() > 512 * 512 * 4
    assert max(sizes) < 4096
    assert operators(model) == ["MatMul"]


def test_values_that_bodies_capture_are_operands_of_the_node(read):
    model = read(_captures())
    opaque = model.graph.outputs[0]
    assert opaque.operator == OPAQUE
    h = model.builder.Relu(Var("x", float32(2)))
    assert opaque.args == (Var("c", TensorType("bool", ())), h, Const("w", float32(2)))


def _captures():
    return parser.parse_model(
        HEAD
        + """g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
            h = Relu(x)
            y = If (c) <then_branch = t () => (float[2] p) { p = Add(h, w) },
                        else_branch = e () => (float[2] q) { q = Neg(h) }>
        }"""
    )


def test_a_local_function_shadows_no_spelling_and_a_function_named_as_an_operator_is_opaque(read):
    model = read(
        """<ir_version: 9, opset_import: ["" : 17, "local" : 1]> g (float[2] x) => (float[2] y)
        { z = local.Relu(x)  y = Relu(z) }
        <domain: "local", opset_import: ["" : 17]> Relu (a) => (b) { b = Neg(a) }"""
    )
    assert operators(model) == [OPAQUE, "Relu"]


def test_before_opset_seven_every_node_is_opaque(read):
    text = '<ir_version: 3, opset_import: ["" : 6]> g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }'
    assert operators(read(text)) == [OPAQUE]


def test_nodes_in_any_order_are_read_in_the_right_one(read):
    text = HEAD + "g (float[2] x) => (float[2] y) { a = Relu(x)  b = Tanh(a)  y = Sigmoid(b) }"
    proto = parser.parse_model(text)
    reverse = list(reversed([onnx.NodeProto.FromString(node.SerializeToString()) for node in proto.graph.node]))
    del proto.graph.node[:]
    proto.graph.node.extend(reverse)
    model = read(proto)
    assert operators(model) == ["Relu", "Tanh", "Sigmoid"]
    assert model.order == (2, 1, 0)


def test_strings_sequences_and_optionals_pass_through(read):
    string = helper.make_tensor_value_info("s", TensorProto.STRING, [2])
    items = helper.make_tensor_sequence_value_info("l", TensorProto.FLOAT, ["n"])
    maybe = helper.make_value_info("o", helper.make_optional_type_proto(items.type))
    given = (string, items, maybe)
    outputs = [onnx.ValueInfoProto(name=name, type=value.type) for name, value in zip("abc", given, strict=True)]
    nodes = [helper.make_node("Identity", [value], [name]) for value, name in zip("slo", "abc", strict=True)]
    graph = helper.make_graph(nodes, "g", given, outputs)
    model = read(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert [value.dtype for value in model.inputs][:2] == ["object", "seq(tensor(float))"]
    assert [value.bound for value in model.inputs] == [(2,), None, None]
    assert [term.name for term in model.graph.outputs] == ["s", "l", "o"]


def test_a_digest_tells_models_apart_that_differ_only_in_the_data_beside_them(tmp_path, library):
    text = f"{HEAD} g (float[2048] x) => (float[2048] y) {{ y = Mul(x, w) }}"
    digests, files = [], set()
    for place, value in (("one", 1.0), ("other", 2.0), ("copy", 1.0)):
        model = parser.parse_model(text)
        model.graph.initializer.append(numpy_helper.from_array(np.full(2048, value, np.float32), "w"))
        path = tmp_path / place / "model.onnx"
        path.parent.mkdir()
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
        digests.append(read_model(path, library, {}).digest)
        files.add(path.read_bytes())
    assert digests[0] == digests[2] != digests[1]
    assert len(files) == 1
