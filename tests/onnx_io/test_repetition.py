"""Repetition up to a known shape is read, and what that shape and the operand broadcast to together is said."""

import numpy as np
import pytest

from asked_sizes import ASKED, HEAD, PLACES, B, N
from taso_opt.onnx_io import write_model

TEXT = '<ir_version: 8, opset_import: ["" : {}]>g (float[{}] x) => (float[{}] y) {{ {} }}'
EXPAND = "s = Constant <value_ints = [{}]> () y = Expand (x, s)"
TILE = EXPAND.replace("Expand", "Tile")
KEPT = (
    "ones = ConstantOfShape <value = int64[1] {1}> (rank) less = Constant <value_ints = [-1]> () "
    "kept = Mul(ones, less) "
    "s = Constant <value_ints = [-1, 4, -1]> () own = Equal(s, kept) t = Where(own, ones, s) y = Expand (x, t)"
)
"""What torch.onnx makes of an expansion that leaves sizes as they are where it is given -1."""

GIVEN = "float[b,n,8] x) => (float y) <{}, int64[1] four = {{4}}, int64[1] eight = {{8}}> {{ {} }}"


@pytest.mark.parametrize("opset", [12, 13, 20])
@pytest.mark.parametrize(
    ("before", "given", "after"),
    [("1,5", "3, 5", (3, 5)), ("5", "2, 3, 1", (2, 3, 5)), ("2,1,5", "4, 1", (2, 4, 5)), ("2,5", "1", (2, 5))],
)
def test_the_shape_is_the_whole_one(read, run, opset, before, given, after):
    model = read(TEXT.format(opset, before, ",".join(map(str, after)), EXPAND.format(given)))
    (output,) = model.graph.outputs
    assert (output.operator, output.attribute("shape")) == ("Expand", after)
    written = write_model(model, model.graph)
    assert written.SerializeToString() == model.path.read_bytes()
    x = np.arange(np.prod([int(size) for size in before.split(",")]), dtype=np.float32)
    x = x.reshape([int(size) for size in before.split(",")])
    np.testing.assert_array_equal(run(written, {"x": x})["y"], np.broadcast_to(x, after))


def test_a_size_that_is_not_known_stays_that_of_the_operand(read):
    model = read(TEXT.format(17, "N,1,5", "N,4,5", EXPAND.format("1, 4, 1")))
    (output,) = model.graph.outputs
    assert [str(size) for size in output.attribute("shape")] == ["N", "4", "5"]


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [("1,5", "3, 1", "3,5"), ("2,1,5", "1, 4, 1", "2,4,5"), ("1,1", "2, 3", "2,3"), ("N,1,5", "1, 4, 1", "N,4,5")],
)
def test_axes_of_size_one_are_tiled_as_they_are_expanded(read, before, given, after):
    model = read(TEXT.format(17, before, after, TILE.format(given)))
    (output,) = model.graph.outputs
    assert (output.operator, ",".join(map(str, output.attribute("shape")))) == ("Expand", after)
    written = write_model(model, model.graph)
    assert written.SerializeToString() == model.path.read_bytes()


def test_sizes_that_a_model_chooses_by_comparing_them_are_known(read, run):
    model = read(TEXT.format(17, "2,1,5", "2,4,5", "rank = Constant <value_ints = [3]> () " + KEPT))
    (output,) = model.graph.outputs
    assert (output.operator, output.attribute("shape")) == ("Expand", (2, 4, 5))
    x = np.arange(10, dtype=np.float32).reshape(2, 1, 5)
    np.testing.assert_array_equal(run(write_model(model, model.graph), {"x": x})["y"], np.broadcast_to(x, (2, 4, 5)))


def expanded(target):
    """A model that repeats rows [b, 1, n, 8] to sizes of its input and others."""
    nodes = f"u = Unsqueeze(x, first) v = Transpose <perm = [1, 0, 2, 3]> (u) s4 = Concat <axis = 0> ({target})"
    return HEAD + "g (" + GIVEN.format(PLACES, f"{ASKED} {nodes} y = Expand(v, s4)")


@pytest.mark.parametrize(
    ("target", "shape"),
    [("b1, four, n1, eight", (B, 4, N, 8)), ("b1, n1, n1, eight", None), ("n1, four, n1, eight", None)],
)
def test_a_size_that_a_model_asks_for_may_be_that_of_the_operand(read, target, shape):
    (output,) = read(expanded(target)).graph.outputs
    assert (output.attribute("shape") if output.operator == "Expand" else None) == shape


@pytest.mark.parametrize(
    "model",
    [
        TEXT.format(17, "2,5", "4,5", TILE.format("2, 1")),
        TEXT.format(17, "1,5", "0,5", TILE.format("0, 1")),
        TEXT.format(17, "N,5", "M,5", TILE.format("2, 1")),
        TEXT.format(17, "1,5", "0,5", EXPAND.format("0, 5")),
        '<ir_version: 8, opset_import: ["" : 17]>g (float[1,5] x, int64[2] s) => (float[N,M] y) { y = Expand (x, s) }',
        TEXT.format(17, "N,5", "M,5", EXPAND.format("4, 5")),
    ],
)
def test_other_repetition_stays_opaque(read, model):
    assert read(model).graph.outputs[0].operator != "Expand"
