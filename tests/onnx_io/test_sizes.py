"""Sizes that a model computes from the sizes of its inputs, and what is believed of what it states of others."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import read_model
from taso_opt.onnx_io.sizes.computed import numeric_types
from taso_opt.onnx_io.sizes.inference import infer_types, symbolic_skeleton, with_numbers
from taso_opt.onnx_io.sizes.open import symbolic_types
from taso_opt.spec import load_specs

POSITIONS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[b,s,8] x) => (float[n,8] y) {
  shape = Shape(x)  length = Gather <axis = 0> (shape, one)  positions = Range(zero, length, one)
  rows = Gather <axis = 0> (table, positions)  y = Relu(rows) }"""

LONG = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] x) => (int64[m] y) {
  shape = Shape(x)  size = Gather <axis = 0> (shape, zero)  most = Mul(size, many)  y = Range(zero, most, one) }"""

HALVED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,6,6] x) => (float[p,q,r,s] y) {
  shape = Shape(x)  size = Gather <axis = 0> (shape, axis)  half = Div(size, two)
  left = Slice(x, zero, half, axis)  y = Conv(left, f) }"""

FILLED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n,5] x) => (float[p,q] y) {
  rest = Mod(eight, five)  zeros = ConstantOfShape <value = int64[1] {0}> (rest)
  pads = Concat <axis = 0> (zeros, rest)  y = Pad(x, pads) }"""

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
LOOP = "t, z = Loop <body = b (int64 i, bool c, {state} s) => (bool d, {state} {next}, float[1, 3] o) {{ {nodes} }}>"


def model(text, **values):
    made = parser.parse_model(text)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in values.items())
    return made


@pytest.fixture
def embedded():
    return model(POSITIONS, table=np.ones((512, 8), np.float32), zero=0, one=1)


def test_sizes_are_followed_through_the_arithmetic_of_exporters(embedded, tmp_path):
    bare = symbolic_skeleton(embedded, tmp_path / "model.onnx")
    numbers = {"b": 2, "s": 16}
    assert not infer_types(with_numbers(bare, numbers))["y"].is_static
    assert str(numeric_types(bare, symbolic_types(bare), numbers)["y"]) == "[16, 8]"


def test_what_symbols_tell_is_not_computed_once_more(embedded, tmp_path, monkeypatch):
    monkeypatch.setattr("onnxscript.optimizer.fold_constants_ir", lambda *_, **__: pytest.fail("folded"))
    bare = symbolic_skeleton(embedded, tmp_path / "model.onnx")
    types = {name: TensorType("float32", (symbol("b"), symbol("s") + 1)) for name in symbolic_types(bare)}
    assert str(numeric_types(bare, types, {"b": 2, "s": 16})["y"]) == "[2, 17]"


def test_sizes_that_terms_tell_are_not_inferred_with_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("taso_opt.onnx_io.reading.read.numeric_types", lambda *_: pytest.fail("inferred"))
    proto = model(HALVED, axis=[1], two=[2], zero=[0], f=np.ones((3, 2, 3, 3), np.float32))
    bare = symbolic_skeleton(proto, tmp_path / "model.onnx")
    assert not symbolic_types(bare)["y"].is_static
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    read = read_model(tmp_path / "model.onnx", load_specs())
    assert [str(read.builder.type(output)) for output in read.graph.outputs] == ["[1, 3, 4, 4]"]


def test_zeros_of_a_computed_shape_are_computed_where_they_are_few(tmp_path):
    bare = symbolic_skeleton(model(FILLED, eight=[8], five=[5], axis=[0]), tmp_path / "model.onnx")
    assert str(numeric_types(bare, infer_types(bare), {"n": 3})["y"]) == "[3, 8]"


def test_a_symbol_stands_for_the_size_that_it_has_and_not_for_an_assumed_one(embedded, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(embedded.SerializeToString())
    read = read_model(path, load_specs(), {"b": 2, "s": 16})
    (output,) = read.graph.outputs
    assert load_specs().builder(read.bindings).type(output).shape == (16, 8)


def test_what_would_be_large_is_not_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("numpy.arange", lambda *_, **__: pytest.fail("computed"))
    bare = symbolic_skeleton(model(LONG, zero=0, one=1, many=2**40), tmp_path / "model.onnx")
    assert "y" in numeric_types(bare, symbolic_types(bare), {"n": 3})


def test_what_cannot_be_folded_is_typed_as_it_stands(embedded, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no")

    monkeypatch.setattr("onnxscript.optimizer.fold_constants_ir", fails)
    bare = symbolic_skeleton(embedded, tmp_path / "model.onnx")
    numbers = {"b": 2, "s": 16}
    assert numeric_types(bare, infer_types(bare), numbers) == infer_types(with_numbers(bare, numbers))


@pytest.mark.parametrize(
    ("state", "following", "nodes"),
    [
        ("float[1, 3]", "n", "d = Identity(c)  n = Relu(s)  o = Identity(n)"),
        ("float[M, 3]", "s", "d = Identity(c)  o = Identity(s)"),
        ("seq(float[1, 3])", "n", "d = Identity(c)  o = SequenceAt(s, i)  n = SequenceInsert(s, o)"),
    ],
)
@pytest.mark.parametrize("is_function", [False, True])
def test_stale_shapes_of_what_enters_a_loop_are_not_believed(read, state, following, nodes, is_function):
    loop = LOOP.format(state=state, next=following, nodes=nodes) + "(m, go, e)"
    start = "e = SequenceConstruct(x)" if "seq" in state else "e = Identity(x)"
    given = "(float[N, 3] x, float[M] v, int64 m, bool go) => (int64[3] y)"
    text = f"{HEAD} g {given} {{ {start}  {loop}  y = Shape(z) }}"
    if is_function:
        text = text.replace("17]", '17, "my" : 1]').replace(loop, "z = my.f(m, go, e)")
        text += f' <domain: "my", opset_import: ["" : 17]> f (m, go, e) => (z) {{ {loop} }}'
    model = read(text)
    (shape,) = model.graph.outputs
    assert model.builder.type(shape.args[0]).dtype == "unknown"


@pytest.mark.parametrize("head", ["(float[1, 3] x, float[a, b] y)", "(float[a, b] y) <float[1, 3] x>"])
def test_stale_shapes_of_inputs_are_not_believed_elsewhere(read, head):
    model = read(f"{HEAD} g (float[N, 3] x) => {head} {{ y = Relu(x) }}")
    assert {model.builder.type(term).shape for term in model.graph.outputs} == {(symbol("N"), 3)}


def test_the_number_of_a_turn_has_the_shape_that_its_body_states(read):
    body = "b (int64[1] i, bool c) => (bool d, int64[1] o) { d = Identity(c)  o = Neg(i) }"
    model = read(f"{HEAD} g (int64 m, bool go) => (int64[n, 1] y) {{ y = Loop <body = {body}> (m, go) }}")
    assert model.builder.type(model.graph.outputs[0]).shape[1:] == (1,)


def test_a_size_in_a_body_is_not_that_of_an_input_that_has_its_name(read):
    branch = "{name} () => (float[N, 3] {name}) {{ {name} = my.own.Magic(x) }}"
    then, other = (branch.format(name=name) for name in "pq")
    model = read(
        '<ir_version: 8, opset_import: ["" : 17, "my.own" : 1]> g (float[N, 3] x, bool c) => (float[M, 3] y) '
        f"{{ y = If <then_branch = {then}, else_branch = {other}> (c) }}"
    )
    assert model.builder.type(model.graph.outputs[0]) != TensorType("float32", (symbol("N"), 3))


@pytest.mark.parametrize("axes", ["<value_ints: ints = @axes>", "<value_ints = [-1]>"])
def test_a_constant_that_a_caller_gives_does_not_hide_the_types_of_all_else(read, axes):
    model = read(
        f"""<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
        g (float[N, 4] x) => (float[a, b] y, float[N, 1] s) {{ y = Hardmax(x)  s = my.total <axes = [-1]> (y) }}
        <domain: "my", opset_import: ["" : 17]>
        total <axes> (x) => (r) {{ a = Constant {axes} ()  r = ReduceSum(x, a) }}"""
    )
    assert model.builder.type(model.graph.outputs[0]) == TensorType("float32", (symbol("N"), 4))
