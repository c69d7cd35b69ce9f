"""Sizes that models compute from those of their inputs are known by these, wherever every run has them."""

import numpy as np
import onnxruntime
import pytest
from onnx import parser
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from asked_sizes import ASKED, HEAD, PLACES, B, N
from taso_opt.core.dims import bind
from taso_opt.core.term import Apply, postorder
from taso_opt.core.types import TensorType
from taso_opt.onnx_io.sizes.inference import infer_types, symbolic_skeleton
from taso_opt.onnx_io.sizes.open import symbolic_types

KNOWN = PLACES + ", int64 two = {2}, int64[1] second = {1}, int64[1] all = {9223372036854775807}, int64[1] four = {4}, "
KNOWN += "int64[1] seven = {7}, int64[1] eight = {8}"


FILLED = "m = Mod(eight, seven)  p = Concat <axis = 0> (first, first, first, first, first, m)  f = Pad(x, p)"
"""The last axis, filled up with zeros by as many as are computed."""


def model(nodes, inputs="", known=""):
    """A model with an input [b, n, 8] of which nodes take the sizes."""
    return parser.parse_model(HEAD + f"g (float[b,n,8] x{inputs}) => (float y) <{KNOWN}{known}> {{ {ASKED} {nodes} }}")


def types_of(proto, tmp_path):
    return symbolic_types(symbolic_skeleton(proto, tmp_path / "model.onnx"))


def shapes_of_a_run(proto, feed):
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    return [value.shape for value in session.run(None, feed)]


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ("t = Range(zero, n, one)  y = Cast <to = 1> (t)", (N,)),
        ("t = Concat <axis = 0> (b1, four, n1)  y = ConstantOfShape(t)", (B, 4, N)),
        ("t = Concat <axis = 0> (n1, first)  u = Add(t, second)  y = ConstantOfShape(u)", (N + 1, 1)),
        ("t = Mul(n1, four)  y = ConstantOfShape(t)", (4 * N,)),
        ("t = Sub(n1, second)  u = Add(t, four)  y = ConstantOfShape(u)", (N + 3,)),
        ("t = Concat <axis = 0> (b1, n1, first)  y = Reshape(x, t)", (B, N, 8)),
        ("t = Concat <axis = 0> (b1, n1, four, rest)  y = Reshape(x, t)", (B, N, 4, 2)),
        ("t = Concat <axis = 0> (rest, n1)  y = Reshape(x, t)", (8 * B, N)),
        ("t = Concat <axis = 0> (b1, rest)  y = Reshape(x, t)", (B, 8 * N)),
        ("t = Concat <axis = 0> (b1, n1, second)  u = Slice(x, first, second, rest)  y = Expand(u, t)", (B, N, 1)),
        ("y = Slice(x, first, n1, second)", (B, N, 8)),
        ("y = Slice(x, first, all, second)", (B, N, 8)),
        ("y = Slice(x, first, four, rest)", (B, N, 4)),
        ("y = Slice(x, first, rest, rest)", (B, N, 7)),
        ("t = Concat <axis = -2> (x, x)  y = Relu(t)", (B, 2 * N, 8)),
        (
            "t = Concat <axis = 0> (b1, n1)  e = Equal(t, rest)  o = ConstantOfShape <value = int64[1] {1}> (two1)  "
            "u = Where(e, o, t)  i = Expand(two, u)  y = Cast <to = 1> (i)",
            (B, N),
        ),
        (
            "t = Concat <axis = 0> (b1, n1)  u = Expand(two, t)  v = Expand(one, t)  e = Equal(u, v)  "
            "y = Cast <to = 1> (e)",
            (B, N),
        ),
        ("t = Concat <axis = 0> (n1, n1)  m = ConstantOfShape(t)  y = MatMul(m, x)", (B, N, 8)),
        ("p = Concat <axis = 0> (first, second, n1, first, four, first)  y = Pad(x, p)", (B, N + 5, N + 8)),
        ("t = Concat <axis = 0> (n1, second, two1)  y = Tile(x, t)", (B * N, N, 16)),
        (f"{FILLED}  y = Relu(f)", (B, N, 9)),
        (f"{FILLED}  y = Slice(f, two1, all, rest)", (B, N, 7)),
        (f"{FILLED}  y = Slice(f, two1, rest, rest)", (B, N, 6)),
        (f"{FILLED}  y = Slice(f, rest, lowest, rest, rest)", (B, N, 9)),
        (f"{FILLED}  y = Slice(f, first, all, rest, two1)", (B, N, 5)),
    ],
)
def test_what_a_run_computes_from_sizes_is_known_before(tmp_path, nodes, shape):
    proto = model(nodes, known=", int64[1] two1 = {2}, int64[1] lowest = {-9223372036854775807}")
    assert types_of(proto, tmp_path)["y"] == TensorType("float32", shape)
    for sizes in ({"b": 2, "n": 5}, {"b": 3, "n": 1}):
        x = np.ones((sizes["b"], sizes["n"], 8), np.float32)
        assert shapes_of_a_run(proto, {"x": x}) == [tuple(bind(dim, sizes) for dim in shape)]


POSITIONS = "p = Slice(places, first, n1, second)  e = Gather(table, p)  y = Add({})"
TABLE = ", int64[1,6] places = {0, 1, 2, 3, 4, 5}"


@pytest.mark.parametrize("operands", ["x, e", "e, x"])
def test_positions_cut_to_the_length_of_the_input_do_not_hide_it(tmp_path, operands):
    proto = model(POSITIONS.format(operands), inputs=", float[6,8] table", known=TABLE)
    assert types_of(proto, tmp_path)["y"] == TensorType("float32", (B, N, 8))
    table = np.ones((6, 8), np.float32)
    for n in (1, 4, 6):
        assert shapes_of_a_run(proto, {"x": np.ones((2, n, 8), np.float32), "table": table}) == [(2, n, 8)]
    with pytest.raises(Fail, match="Add node"):
        shapes_of_a_run(proto, {"x": np.ones((2, 7, 8), np.float32), "table": table})


def test_positions_alone_may_be_fewer_than_the_input_has(tmp_path):
    proto = model("p = Slice(places, first, n1, second)  y = Cast <to = 1> (p)", known=TABLE)
    (rows, columns) = types_of(proto, tmp_path)["y"].shape
    assert rows == 1
    assert columns not in (N, 6)
    assert shapes_of_a_run(proto, {"x": np.ones((2, 9, 8), np.float32)}) == [(1, 6)]


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Slice(x, second, n1, second)",  # no size below zero has a name
        "p = Concat <axis = 0> (first, rest, first, first, first, first)  y = Pad(x, p)",  # nor here
        "p = Concat <axis = 0> (n1, first)  y = Pad(x, p, , second)",
        "y = Slice(x, first, b1, second)",
        "y = Slice(x, first, rest, second)",
        "t = Slice(x, first, b1, second)  y = Add(t, x)",  # a batch of none would make one row none
        "y = Add(x, z)",
        "t = Range(one, n, one)  y = Cast <to = 1> (t)",
        "t = Range(zero, n, two)  y = Cast <to = 1> (t)",
        "t = Div(n1, four)  y = ConstantOfShape(t)",
        "t = Cast <to = 5> (b)  u = Cast <to = 7> (t)  v = Reshape(u, second)  y = ConstantOfShape(v)",
        "t = Cast <to = 9> (n)  u = Cast <to = 7> (t)  v = Reshape(u, second)  y = ConstantOfShape(v)",
        "t = Sub(n, two)  u = Range(zero, t, one)  y = Cast <to = 1> (u)",  # of a few there are none
        "t = Sub(n1, four)  p = Slice(table, first, t, first)  q = Slice(x, first, t, second)  y = Add(p, q)",
    ],
)
def test_what_depends_on_more_stays_open(tmp_path, nodes):
    sizes = types_of(model(nodes, inputs=", float[b,m,8] z, float[6,8] table"), tmp_path)["y"].shape
    symbols = {name for size in sizes if not isinstance(size, int) for name in size.symbols()}
    assert symbols - {"b", "m", "n"}


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Slice(x, four, four, all)",
        "t = Concat <axis = 0> (b1, rest, rest)  y = Reshape(x, t)",
        "t = Concat <axis = 0> (b1, n1, first, first)  y = Reshape(x, t)",
        "t = Concat <axis = 7> (x, x)  y = Relu(t)",
        "t = Gather(s, four)  y = ConstantOfShape(t)",
        "t = Slice(s, first, second, four, first)  y = ConstantOfShape(t)",
    ],
)
def test_what_no_run_accepts_has_some_type_or_none(tmp_path, nodes):
    bare = symbolic_skeleton(model(nodes), tmp_path / "model.onnx")
    assert symbolic_types(bare).keys() == infer_types(bare).keys()


def test_products_behind_embeddings_are_read_with_the_sizes_of_the_input(read):
    nodes = (
        POSITIONS.format("x, e") + "  q = MatMul(y, w)  t = Concat <axis = 0> (b1, n1, four, rest)  h = Reshape(q, t)"
    )
    head = f"g (float[b,n,8] x) => (float h) <{KNOWN}{TABLE}> "
    found = read(HEAD + head + f"{{ {ASKED} {nodes} }}", weights={"table": (6, 8), "w": (8, 8)})
    (output,) = found.graph.outputs
    operators = [term.operator for term in postorder([output]) if isinstance(term, Apply)]
    assert operators[-2:] == ["MatMul", "Reshape"]
    assert found.builder.type(output) == TensorType("float32", (B, N, 4, 2))
