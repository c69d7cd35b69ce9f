"""What a model computes from sizes that are numbers is a constant like any other."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from taso_opt.core.dims import symbol
from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, postorder
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import read_model, write_model
from taso_opt.onnx_io.sizes.known import NO_NUMBER, asked_size, computed_size, stays_small
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.spec import load_specs

HALVES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[{rows},{channels}] x) => (float[r,c] y, float[p,q] z) {{
  turned = Relu(x)
  shape = Shape(turned)  size = Gather <axis = 0> (shape, axis)  half = Div(size, two)
  y = Slice(turned, zero, half, axis)  z = Slice(turned, half, size, axis) }}"""

CAPTURED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,6] x, bool flag) => (int64[n] y, float[4,6] z) {
  z = Relu(x)  shape = Shape(z)  size = Gather <axis = 0> (shape, axis)
  y = If (flag) <then_branch = yes () => (int64[n] a) { a = Add(size, axis) },
                 else_branch = no () => (int64[n] b) { b = Identity(size) }> }"""

TOLD = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,6] x) => (int64[n] shape, float[p,q] y) {
  shape = Shape(x)  turned = Relu(x)  y = Reshape(turned, shape) }"""


def saved(text, path, **values):
    model = parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(np.array(value), name) for name, value in values.items())
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def halves(tmp_path):
    """Halves of the channels, as exporters write a chunk, of a model with so many rows and channels."""

    def save(rows=4, channels=6):
        text = HALVES.format(rows=rows, channels=channels)
        return saved(text, tmp_path / "model.onnx", zero=[0], axis=[1], two=[2])

    return save


def with_maximum(read):
    """The model with its activation spelled as a maximum, as a rule would have it."""
    (relu,) = (term for term in postorder(read.graph.outputs) if isinstance(term, Apply) and term.operator == "Relu")
    spelled = read.builder.apply("Max", (literal(0, "float32"), *relu.args), {})
    return write_model(
        read, Graph(read.graph.inputs, substitute_terms(read.builder, read.graph.outputs, {relu: spelled}))
    )


def operators(read):
    return sorted(term.operator for term in postorder(read.graph.outputs) if isinstance(term, Apply))


@pytest.mark.parametrize("rows", [4, "n"])
def test_a_slice_between_computed_sizes_is_known(halves, rows):
    """What is computed depends on the channels alone, whatever the number of rows."""
    assert operators(read_model(halves(rows), load_specs())) == ["Relu", "Slice", "Slice"]


def test_what_depends_on_a_size_that_is_no_number_stays_as_it_is(halves):
    assert "Opaque" in operators(read_model(halves(channels="c"), load_specs()))


def test_the_nodes_that_computed_sizes_are_left_out_of_what_is_written(halves):
    path = halves()
    read = read_model(path, load_specs())
    found = with_maximum(read)
    onnx.checker.check_model(found, full_check=True)
    assert sorted(node.op_type for node in found.graph.node) == ["Max", "Slice", "Slice"]
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    wanted, given = (ReferenceEvaluator(model).run(None, {"x": x}) for model in (onnx.load(path), found))
    assert all(map(np.array_equal, wanted, given))


def test_bodies_still_find_the_sizes_that_they_use(tmp_path):
    path = saved(CAPTURED, tmp_path / "model.onnx", axis=[1])
    read = read_model(path, load_specs())
    found = with_maximum(read)
    onnx.checker.check_model(found, full_check=True)
    assert "Shape" not in {node.op_type for node in found.graph.node}
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    for flag in (True, False):
        feed = {"x": x, "flag": np.array(flag)}
        wanted, given = (ReferenceEvaluator(model).run(None, feed) for model in (onnx.load(path), found))
        assert all(map(np.array_equal, wanted, given))


def test_sizes_that_are_outputs_are_still_given(tmp_path):
    read = read_model(saved(TOLD, tmp_path / "model.onnx"), load_specs())
    found = with_maximum(read)
    onnx.checker.check_model(found, full_check=True)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    shape, y = ReferenceEvaluator(found).run(None, {"x": x})
    assert shape.tolist() == [4, 6] and np.array_equal(y, np.maximum(x, 0))


@pytest.mark.parametrize(
    ("text", "operands", "value"),
    [
        ("y = Div(a, b)", ([7, 8], [2]), [3, 4]),
        ("y = Div(a, b)", ([-7], [2]), None),  # runtimes may round in either way
        ("y = Div(a, b)", ([7], [0]), None),
        ("y = Gather <axis = 0> (a, b)", ([4, 5, 6], [2]), [6]),
        ("y = Gather <axis = 0> (a, b)", ([4, 5, 6], [3]), None),  # not valid
        ("y = Concat <axis = 0> (a, b)", ([4, 5], [-1]), [4, 5, -1]),
        ("y = Cast <to = 1> (a)", ([4],), [4.0]),
        ("y = Cast <to = 10> (a)", ([4],), None),  # halves have few whole numbers
        ("y = Clip(a, b)", ([-3, 7], 0), [0, 7]),
        ("y = ConstantOfShape(a)", ([2],), [0.0, 0.0]),
        ("y = Transpose <perm = [1, 0]> (a)", ([[1, 2], [3, 4]],), [[1, 3], [2, 4]]),
        ("y = Div(a)", ([7],), None),  # not valid either
        ("y = Concat <axis = 0> (a, b)", ([4, 5], []), [4, 5]),
        ("y = Mod(a, b)", ([7, 8], [4]), [3, 0]),
        ("y = Mod(a, b)", ([-7], [4]), None),
        ("y = Mod(a, b)", ([7], [0]), None),
        ("y = Equal(a, b)", ([4, -1], [-1]), [False, True]),
        ('y = BitShift <direction = "LEFT"> (a, b)', ([7], [2]), None),
        ("y = Mul(a, b)", ([1] * 65, [2]), None),  # no shape has so many axes
    ],
)
def test_arithmetic_on_whole_numbers_is_evaluated(text, operands, value):
    inputs = ", ".join(f"int64[n] {name}" for name, _ in zip("ab", operands, strict=False))
    (node,) = parser.parse_graph(f"g ({inputs}) => (int64[m] y) {{ {text} }}").node
    found = computed_size(node, [np.array(operand) for operand in operands], 17)
    assert (None if found is None else found.tolist()) == value


@pytest.mark.parametrize(
    ("operator", "operands", "small"),
    [
        ("ConstantOfShape", ([4, 16],), True),
        ("ConstantOfShape", ([60000, 60000],), False),
        ("Expand", ([1], [60000, 60000]), False),
        ("Expand", ([1],), True),  # not valid, which is found elsewhere
        ("Gather", ([60000, 60000], [0]), True),
    ],
)
def test_what_grows_to_the_size_of_an_image_is_not_computed(operator, operands, small):
    node = helper.make_node(operator, ["a", "b"][: len(operands)], ["y"])
    assert stays_small(node, [np.array(operand) for operand in operands]) == small


@pytest.mark.parametrize(
    ("text", "operands", "value"),
    [
        ("y = Div(a, b)", ([7.0], [2.0]), [3.5]),
        ("y = Div(a, b)", ([1.0], [3.0]), [float(np.float32(1) / np.float32(3))]),
        ("y = Div(a, b)", ([1.0], [0.0]), None),
        ("y = Ceil(a)", ([3.5, 4.0],), [4.0, 4.0]),
        ("y = Floor(a)", ([3.5],), [3.0]),
        ("y = Sqrt(a)", ([64.0],), [8.0]),
        ("y = Sqrt(a)", ([-1.0],), None),  # no number
        ("y = Cast <to = 7> (a)", ([4.0],), [4]),
        ("y = Mul(a, b)", ([1e6], [1e6]), None),  # no float tells such numbers apart
        ("y = ReduceProd(a)", ([3.0, 4.0],), None),  # in whatever order
        ("y = Exp(a)", ([1.0],), None),  # runtimes approximate it
    ],
)
def test_floats_are_followed_where_every_runtime_rounds_them_alike(text, operands, value):
    inputs = ", ".join(f"float[n] {name}" for name, _ in zip("ab", operands, strict=False))
    (node,) = parser.parse_graph(f"g ({inputs}) => (float[m] y) {{ {text} }}").node
    found = computed_size(node, [np.array(operand, np.float32) for operand in operands], 17)
    assert (None if found is None else found.tolist()) == value


@pytest.mark.parametrize("axes", [[0], [1, 2], [-2, -1], [1, 0], [0, -1]])
def test_new_axes_are_counted_in_the_result_in_every_version(axes):
    node = helper.make_node("Unsqueeze", ["a"], ["y"], axes=axes)
    found = computed_size(node, [np.array([1, 2, 3])], 11)
    assert found.shape == np.expand_dims(np.zeros(3), tuple(axes)).shape


PADDED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,3,{size},{size}] x) => (float[n,c,h,w] y) {{
  shape = Shape(x)  size = Gather <axis = 0> (shape, axis)  wide = Cast <to = 1> (size)  steps = Div(wide, two)
  up = Ceil(steps)  outputs = Cast <to = 7> (up)  last = Sub(outputs, one)  first = Mul(last, stride)
  reach = Add(first, kernel)  over = Sub(reach, size)  pad = Clip(over, zero)  before = Div(pad, stride)
  behind = Sub(pad, before)  axes = Shape(shape)  none = ConstantOfShape <value = int64[1] {{0}}> (axes)
  few = Slice(none, from0, to2)  pads = Concat <axis = 0> (few, before, before, few, behind, behind)
  around = Pad(x, pads)  y = Relu(around) }}"""


STATED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,3,6,6] x) => (float[n,c,h,w] y) {{
  none = Constant <value_ints = [0, 0]> ()  ends = Constant <value_ints = [1, 2]> ()
  pads = Concat <axis = 0> (none, {ends}, none, ends)  around = Pad(x, pads)  y = Relu(around) }}"""


def test_what_is_computed_from_stated_numbers_alone_is_known(tmp_path):
    read = read_model(saved(STATED.format(ends="ends"), tmp_path / "model.onnx"), load_specs())
    assert operators(read) == ["Pad", "Relu"]


def test_what_is_computed_from_weights_is_left_to_the_runtime(tmp_path):
    read = read_model(saved(STATED.format(ends="given"), tmp_path / "model.onnx", given=[1, 2]), load_specs())
    assert "Opaque" in operators(read)


@pytest.mark.parametrize(("size", "pads"), [(224, (0, 0, 1, 1)), (7, (1, 1, 1, 1))])
def test_zeros_around_an_image_that_are_computed_from_its_size_are_known(tmp_path, size, pads):
    numbers = {"axis": [2], "one": [1], "stride": [2], "kernel": [3], "from0": [0], "to2": [2]}
    path = saved(PADDED.format(size=size), tmp_path / "model.onnx", two=np.float32([2]), zero=0, **numbers)
    read = read_model(path, load_specs())
    (pad,) = (term for term in postorder(read.graph.outputs) if isinstance(term, Apply) and term.operator == "Pad")
    assert pad.attribute("pads") == pads
    found = with_maximum(read)
    onnx.checker.check_model(found, full_check=True)
    assert sorted(node.op_type for node in found.graph.node) == ["Max", "Pad"]
    x = np.random.default_rng(0).standard_normal((1, 3, size, size)).astype(np.float32)
    wanted, given = (ReferenceEvaluator(model).run(None, {"x": x}) for model in (onnx.load(path), found))
    assert all(map(np.array_equal, wanted, given))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("y = Shape(x)", (4, 6), [4, 6]),
        ("y = Shape <start = -2, end = -1> (x)", (4, 6, 8), [6]),
        ("y = Size(x)", (4, 6), 24),
        ("y = Shape(x)", (4, symbol("n")), [4, NO_NUMBER]),
        ("y = Size(x)", (4, symbol("n")), None),
        ("y = Size(x)", (2**31, 2**31), 2**62),
        ("y = Size(x)", (2**32, 2**31), None),
        ("y = Shape(x)", (), None),
    ],
)
def test_sizes_are_known_where_all_are_numbers(text, kind, value):
    (node,) = parser.parse_graph(f"g (float[n] x) => (int64[m] y) {{ {text} }}").node
    found = asked_size(node, TensorType("float32", kind))
    assert (None if found is None else found.tolist()) == value


def test_the_shape_of_a_value_of_unknown_rank_is_not_known(tmp_path):
    head = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>'
    text = head + " g (float[4] x) => (int64[n] y) { a = own.Turn(x) y = Shape(a) }"
    read = read_model(saved(text, tmp_path / "model.onnx"), load_specs())
    assert operators(read) == ["Opaque", "Opaque"]


def test_functions_of_the_model_with_the_name_of_an_operator_are_not_evaluated(halves):
    path = halves()
    model = onnx.load(path)
    (function,) = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Relu(x) }
        <domain: "", opset_import: ["" : 17]> Div (a, b) => (c) { c = Mul(a, b) }"""
    ).functions
    model.functions.append(function)
    path.write_bytes(model.SerializeToString())
    assert operators(read_model(path, load_specs())).count("Opaque") == 3


UNFLATTENED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,1,6] x) => (float[a,b,c,d] y) {
  parts = Constant <value_ints = [3, 2]> ()
  two = Constant <value_ints = [2]> ()  three = Constant <value_ints = [3]> ()
  zero = Constant <value_ints = [0]> ()  one = Constant <value_ints = [1]> ()
  end = Constant <value_ints = [9223372036854775807]> ()
  axis = Mod(two, three)  next = Add(axis, one)  turned = Relu(x)  shape = Shape(turned)
  before = Slice(shape, zero, axis)  behind = Slice(shape, next, end)
  sizes = Concat <axis = 0> (before, parts, behind)  y = Reshape(turned, sizes) }"""


def test_the_last_axis_is_taken_apart_where_no_size_is_behind_it(tmp_path):
    """As the attention of PyTorch does, which cuts queries, keys and values out of one product."""
    read = read_model(saved(UNFLATTENED, tmp_path / "model.onnx"), load_specs())
    assert operators(read) == ["Relu", "Reshape"]
    assert read.builder.type(read.graph.outputs[0]).shape == (4, 1, 3, 2)
