"""Repetition up to a known shape is read, and what that shape and the operand broadcast to together is said."""

import numpy as np
import pytest

from taso_opt.onnx_io import write_model

TEXT = '<ir_version: 8, opset_import: ["" : {}]>g (float[{}] x) => (float[{}] y) {{ {} }}'
EXPAND = "s = Constant <value_ints = [{}]> () y = Expand (x, s)"
TILE = EXPAND.replace("Expand", "Tile")


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
