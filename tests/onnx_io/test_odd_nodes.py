"""Legal nodes that exporters hardly write: read as what runtimes compute, or left as they are, and never a crash."""

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, parser

from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Const, Item, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import read_model, standalone_model, write_model
from taso_opt.onnx_io.guards.steps import has_near_steps
from taso_opt.onnx_io.nodes import spelled
from taso_opt.onnx_io.reading.fold import fold_constant
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.spec import OPAQUE

INF = np.inf


def model_of(text, opset=17, **weights):
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    return proto


def save(proto, folder):
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    return folder / "model.onnx"


def operators(model):
    return {term.operator for term in postorder(model.graph.outputs) if isinstance(term, Apply)}


@pytest.mark.parametrize("step", [2**31, 2**62, 2**63 - 1, -(2**63)])
def test_a_step_beyond_all_axes_does_not_end_the_reader(tmp_path, library, step):
    bounds = {"s": 0, "e": 3, "a": 0, "t": step}
    weights = {name: np.array([value], np.int64) for name, value in bounds.items()}
    proto = model_of("(float[3] x) => (float[n] y) { y = Slice(x, s, e, a, t) }", **weights)
    assert not has_near_steps(proto)
    assert read_model(save(proto, tmp_path), library).graph.outputs


@pytest.mark.parametrize(
    ("nodes", "near"),
    [
        ("y = Slice(x, s, e, a, t)", True),
        ("y = Slice(x, s, e, a)", True),
        ("u = Mul(t, t)  y = Slice(x, s, e, a, u)", False),  # nobody knows what it becomes
        ("u = Constant <value_ints = [1]> ()  y = Slice(x, s, e, a, u)", True),
        ("u = Constant <value_ints = [4294967296]> ()  y = Slice(x, s, e, a, u)", False),
    ],
)
def test_steps_are_near_where_they_are_known_to_be(nodes, near):
    weights = {name: np.array([value], np.int64) for name, value in {"s": 0, "e": 3, "a": 0, "t": 2}.items()}
    assert has_near_steps(model_of(f"(float[3] x) => (float[n] y) {{ {nodes} }}", **weights)) is near


STEPPING = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
g (float[3] x, bool c) => (float[n] y)
<int64[1] s = {0}, int64[1] e = {3}, int64[1] a = {0}, int64[1] t = {2}> { NODES }
<domain: "my", opset_import: ["" : 17]>
cut (x, s, e, a, STEPS) => (r) { OTHERS  r = Slice(x, s, e, a, t) }"""
BRANCHES = """y = If (c) <then_branch = p () => (q) { t = Constant <value_ints = [1]> ()  q = Slice(x, s, e, a, t) },
    else_branch = o () => (z) { OTHERS  z = Slice(x, s, e, a, t) }>"""
MADE = "u = Constant <value_ints = [4294967296]> ()  t = Neg(u)"
HELD = "t = Constant <value_ints = [1]> ()"


@pytest.mark.parametrize(
    ("nodes", "steps", "others", "near"),
    [
        ("y = my.cut(x, s, e, a, t)", "t", "", False),  # the main graph's t is not the function's
        ("y = my.cut(x, s, e, a, t)", "k", MADE, False),
        ("y = my.cut(x, s, e, a, t)", "k", HELD, True),
        ("t2 = Neg(t)  y = Slice(x, s, e, a, t)", "k", HELD, True),
        (BRANCHES.replace("OTHERS", MADE), "k", HELD, False),
        (BRANCHES.replace("OTHERS", HELD), "k", HELD, True),
    ],
)
def test_steps_of_one_name_are_near_where_all_that_have_it_are(nodes, steps, others, near):
    text = STEPPING.replace("NODES", nodes).replace("STEPS", steps).replace("OTHERS", others)
    assert has_near_steps(parser.parse_model(text)) is near


def test_constants_that_compare_numbers_of_another_type_are_folded(library):
    op = library.builder()
    i, j, w = (
        Const("i", TensorType("int64", (3, 1))),
        Const("j", TensorType("int64", (3,))),
        Const("w", TensorType("float32", (3,))),
    )
    values = {"i": np.arange(3)[:, None], "j": np.arange(3), "w": np.array([1, 2, 3], np.float32)}
    mask = op.Add(op.Where(op.Less(i, j), literal(-10000, "float32"), literal(0, "float32")), w)
    found = fold_constant(op, mask, lambda leaf: values[leaf.name])
    expected = np.where(values["i"] < values["j"], np.float32(-1e4), 0) + values["w"]
    assert found.dtype == np.float32 and np.array_equal(found, expected)


def test_a_split_of_one_part_is_written_anew(tmp_path, library, run):
    proto = model_of(
        "(float[2,3] x) => (float[2,3] y) { r = Relu(x)  s = Split <axis = 1> (r)  t = Neg(s)  y = Relu(t) }", 12
    )
    model = read_model(save(proto, tmp_path), library)
    op, (y,) = model.builder, model.graph.outputs
    (split,) = (term for term in postorder([y]) if isinstance(term, Item))
    moved = op.item(op.Split(op.Neg(*split.term.args), axis=-1, sizes=(3,)), 0)
    outputs = substitute_terms(op, [y], {op.Neg(split): moved})
    result = write_model(model, Graph(model.graph.inputs, tuple(outputs)))
    feed = {"x": np.array([[1, -2, 3], [-4, 5, -6]], np.float32)}
    assert run(result, feed)["y"].tolist() == run(proto, feed)["y"].tolist()
    assert [node.op_type for node in result.graph.node] == ["Relu", "Neg", "Split", "Relu"]


@pytest.mark.parametrize(("low", "high"), [(-3.4028235e38, 1.0), (-1e20, 1e20), (-1e4, 1e4)])
def test_constants_are_clipped_to_large_ends(library, low, high):
    op, value = library.builder(), np.array([-INF, -1e30, -0.5, 0.0, 0.25, 7.0, 1e30, INF], np.float32)
    ends = {name: float(end).as_integer_ratio() for name, end in (("low", low), ("high", high))}
    found = fold_constant(op, op.Clip(Const("w", TensorType("float32", (8,))), **ends), lambda leaf: value)
    assert np.array_equal(found, np.clip(value, np.float32(low), np.float32(high)))


def test_the_magnitude_of_the_largest_whole_numbers_is_folded(library):
    value = np.array([2**64 - 1, 0], np.uint64)
    op = library.builder()
    assert np.array_equal(fold_constant(op, op.Abs(Const("w", TensorType("uint64", (2,)))), lambda leaf: value), value)


@pytest.mark.parametrize(
    ("node", "covered"),
    [
        ('Conv <auto_pad = "SAME_UPPER", strides = [4]> (x, w)', False),
        ('Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w)', True),
        ('AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [2], strides = [4]> (x)', False),
        ('AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [3], strides = [3]> (x)', True),
        ("Pow(n, half)", False),
        ("Pow(n, two)", True),
        ("Softmax <axis = -1> (z)", False),
        ("ReduceMean <axes = [-1], keepdims = 1> (z)", False),
        ("LogSoftmax <axis = 0> (z)", True),
    ],
)
def test_what_has_another_meaning_in_some_corner_is_left_as_it_is(tmp_path, library, node, covered):
    inputs = "float[1,1,8] x, int32[4] n, float[2,0] z"
    w, half, two = np.ones((1, 1, 1), np.float32), np.array(0.5, np.float32), np.array(2, np.int32)
    proto = model_of(f"({inputs}) => (float[a] y) {{ u = {node}  y = Identity(u) }}", w=w, half=half, two=two)
    for value in proto.graph.output:
        value.ClearField("type")
    model = read_model(save(proto, tmp_path), library)
    assert (OPAQUE not in operators(model)) is covered


@pytest.mark.parametrize(("dtype", "alpha"), [("float", (1, 10)), ("double", (13421773, 134217728))])
def test_attributes_beside_doubles_are_what_a_float_holds(tmp_path, library, dtype, alpha):
    proto = model_of(f"({dtype}[4] x) => ({dtype}[4] y) {{ y = Celu <alpha = 0.1> (x) }}")
    (y,) = read_model(save(proto, tmp_path), library).graph.outputs
    assert y.attribute("alpha") == alpha


def test_a_number_that_is_zero_stays_zero_in_what_is_measured(library):
    op = library.builder()
    x, c = Var("x", TensorType("float32", (1, 4, 3))), Const("c", TensorType("float32", (4,)))
    normalized = op.BatchNormalization(x, c, c, c, c, literal(0, "float32"))
    model = ModelProto.FromString(standalone_model(op, [normalized], [x], opset=17, ir_version=8))
    (node,) = (node for node in model.graph.node if node.op_type == "BatchNormalization")
    assert helper.get_attribute_value(next(one for one in node.attribute if one.name == "epsilon")) == 0


def test_expand_is_not_written_before_there_is_one(library):
    op = library.builder()
    wide = op.Expand(Const("x", TensorType("float32", (1, 4))), shape=(3, 4))
    assert spelled(op, wide, 7) is None and spelled(op, wide, 8).op_type == "Expand"


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", range(4, 13))
@pytest.mark.parametrize(("kernel", "stride"), [(1, 2), (1, 3), (1, 4), (2, 4), (2, 5), (3, 2)])
def test_automatic_padding_is_that_of_the_runtime_or_left_to_it(tmp_path, library, run, mode, size, kernel, stride):
    node = f'u = Conv <auto_pad = "{mode}", strides = [{stride}]> (x, w)'
    w = np.ones((1, 1, kernel), np.float32)
    proto = model_of(f"(float[1,1,{size}] x) => (float[1,1,n] y) {{ {node}  y = Identity(u) }}", w=w)
    model = read_model(save(proto, tmp_path), library)
    if OPAQUE not in operators(model):
        op, (y,) = model.builder, model.graph.outputs
        result = ModelProto.FromString(
            standalone_model(op, [y], [], opset=17, ir_version=8, constant_values=lambda term: w)
        )
        x = np.arange(size, dtype=np.float32).reshape(1, 1, -1)
        assert run(result, {"i0": x})["o0"].tolist() == run(proto, {"x": x})["y"].tolist()
    assert OPAQUE not in operators(model) or stride > 2


def test_an_axis_that_is_named_twice_leaves_a_node_as_it_is(tmp_path, library):
    proto = model_of("(float[2,3] x) => (float[a,b,c,d] y) { y = Unsqueeze(x, axes) }", axes=np.array([0, 0]))
    assert operators(read_model(save(proto, tmp_path), library)) == {OPAQUE}


def test_an_exponent_is_the_number_that_the_file_has_whatever_its_type(tmp_path, library):
    text = "(double[3] x) => (double[3] y) { e = Constant <value_float = 0.1> ()  y = Pow(x, e) }"
    model = read_model(save(model_of(text), tmp_path), library)
    (power,) = model.graph.outputs
    call = spelled(model.builder, power, 17)
    assert power.operator == "Pow" and call.inputs[1] == np.float64(np.float32(0.1)) != 0.1
