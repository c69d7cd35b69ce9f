"""Sizes that only a run knows: reshapes to sizes of inputs, places of an open axis, and how both are written."""

import numpy as np
import pytest

from asked_sizes import ASKED, HEAD, PLACES, B, N
from taso_opt.core.dims import bind, symbol
from taso_opt.core.graph import Graph
from taso_opt.core.term import Apply, postorder
from taso_opt.onnx_io import spellable, write_model
from taso_opt.spec import OPAQUE

SIZES = ASKED + "target = Concat <axis = 0> ({})  {} = Reshape(r, target)"
KNOWN = PLACES + ", int64[1] heads = {4}"


def reshaped(target, behind="y"):
    """A model that reshapes [b, n, 8] to sizes of its input and others."""
    nodes = SIZES.format(target, behind)
    return HEAD + f"g (float[b,n,8] x) => (float y) <{KNOWN}> {{ r = Relu(x)  {nodes} }}"


def reshapes(model):
    terms = postorder(model.graph.outputs)
    return [one.attribute("shape") for one in terms if isinstance(one, Apply) and one.operator == "Reshape"]


@pytest.mark.parametrize(
    ("target", "shape"),
    [
        ("b1, n1, heads, rest", (B, N, 4, 2)),
        ("b1, rest, heads", (B, 2 * N, 4)),
        ("rest, n1, heads", (2 * B, N, 4)),
        ("b1, rest", (B, 8 * N)),
        ("first, n1, rest", (B, N, 8)),  # zero copies a size
    ],
)
def test_a_reshape_to_sizes_of_its_input_is_read_and_computes_that_shape(read, run, target, shape):
    found = read(reshaped(target))
    assert reshapes(found) == [shape]
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()
    x = np.random.default_rng(0).standard_normal((3, 5, 8)).astype(np.float32)
    assert run(found.proto, {"x": x})["y"].shape == tuple(bind(dim, {"b": 3, "n": 5}) for dim in shape)


def test_a_reshape_that_could_not_be_written_stays_opaque(read):
    assert read(reshaped("n1, b1, rest")).graph.outputs[0].operator == OPAQUE


def test_two_sizes_that_have_no_name_leave_a_reshape_opaque(read):
    text = "g (float[b,n,8] x, int64[1] u) => (float y) <int64[1] rest = {-1}> "
    nodes = "{ target = Concat <axis = 0> (u, u, rest)  y = Reshape(x, target) }"
    (output,) = read(HEAD + text + nodes).graph.outputs
    assert output.operator == OPAQUE


def test_heads_and_back_are_known_where_exporters_compute_their_shapes(read):
    heads = reshaped("b1, n1, heads, rest", "h").removesuffix(" }")
    back = "t = Transpose <perm = [0, 2, 1, 3]> (h)  u = Transpose <perm = [0, 2, 1, 3]> (t)  "
    back += "whole = Concat <axis = 0> (b1, n1, rest)  y = Reshape(u, whole) }"
    found = read(heads + " " + back)
    assert reshapes(found) == [(B, N, 4, 2), (B, N, 8)]
    assert not any(isinstance(one, Apply) and one.operator == OPAQUE for one in postorder(found.graph.outputs))


@pytest.mark.parametrize(
    ("places", "sizes"),
    [
        ("int64 i = {0}", (0, 1, N - 1)),
        ("int64 i = {2}", (2, 1, N - 3)),
        ("int64 i = {-1}", (N - 1, 1, 0)),
        ("int64[2] i = {1, 2}", (1, 2, N - 3)),
        ("int64[2] i = {-3, -2}", (N - 3, 2, 1)),
    ],
)
def test_places_of_an_open_axis_are_slices(read, run, places, sizes):
    found = read(HEAD + f"g (float[b,n,4] x) => (float y) <{places}> {{ r = Relu(x)  y = Gather <axis = 1> (r, i) }}")
    (cut,) = (one for one in postorder(found.graph.outputs) if isinstance(one, Apply) and one.operator == "Slice")
    assert cut.attribute("sizes") == sizes
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()


@pytest.mark.parametrize("places", ["{-1, 0}", "{0, 2}", "{1, 0}", "{0, 0}"])
def test_places_of_an_open_axis_that_are_no_neighbours_are_looked_up(read, places):
    found = read(HEAD + f"g (float[n,4] x) => (float y) <int64[2] i = {places}> {{ y = Gather(x, i) }}")
    assert found.graph.outputs[0].operator == "Gather"


@pytest.mark.parametrize("opset", [9, 17])
@pytest.mark.parametrize("sizes", [(0, 2, N), (2, N, 0), (0, N, 2), (1, N, 1), (N, 2, 0), (N - 1, 2, 1)])
def test_a_cut_that_a_number_bounds_on_one_side_is_written(read, run, opset, sizes):
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[n,4] x, float[2,4] p) => (float[n,4] y, float[2,4] z)'
    )
    found = read(text + "{ y = Relu(x)  z = Relu(p) }")
    op, (y, z) = found.builder, found.graph.outputs
    cut = op.Slice(op.Concat(*y.args, *z.args, axis=-2), axis=-2, sizes=sizes)
    assert spellable(found)(cut)
    outputs = (y, op.Relu(cut)) if sizes[1] == 2 else (op.Relu(cut), z)
    result = write_model(found, Graph(found.graph.inputs, outputs))
    for length in (3, 6):
        x, p = (np.random.default_rng(length).standard_normal((rows, 4)).astype(np.float32) for rows in (length, 2))
        before, kept, _ = (bind(size, {"n": length}) for size in sizes)
        expected = np.maximum(np.concatenate([x, p])[before : before + kept], 0)
        assert np.array_equal(run(result, {"x": x, "p": p})["z" if kept == 2 else "y"], expected)


def test_a_cut_of_which_one_side_is_open_alone_is_not_written(read):
    found = read(HEAD + "g (float[n,4] x, float[m,4] z) => (float[k,4] y) { y = Concat <axis = 0> (x, z) }")
    op, (whole,) = found.builder, found.graph.outputs
    m = symbol("m")
    assert not spellable(found)(op.Slice(whole, axis=-2, sizes=(N, m, 0)))
    assert not spellable(found)(op.Slice(whole, axis=-2, sizes=(0, N, m)))
