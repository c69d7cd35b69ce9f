"""Padding with zeros is read whatever the opset says it with, and ends as parts; other padding stays the node it is."""

import numpy as np
import pytest

from taso_opt.onnx_io import write_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays

HEAD = '<ir_version: 8, opset_import: ["" : {}]>g (float[2,3,4,5] x{}) => (float[{}] y) {{ {} }}'
PADS = "p = Constant <value_ints = [{}]> () "
ALL = "0, 0, 1, 2, 0, 0, 3, 4"


def known(model):
    (output,) = model.graph.outputs
    return output.operator, dict(getattr(output, "attributes", ())).get("pads")


@pytest.mark.parametrize(
    ("opset", "size", "body", "pads"),
    [
        (9, "2,3,8,11", f"y = Pad <mode = \"constant\", pads = [{ALL}]> (x)", (1, 2, 3, 4)),
        (9, "2,3,8,11", f"y = Pad <pads = [{ALL}], value = 0.0> (x)", (1, 2, 3, 4)),
        (13, "2,3,8,11", f"{PADS.format(ALL)} y = Pad (x, p)", (1, 2, 3, 4)),
        (13, "2,3,8,5", f"{PADS.format('0, 0, 1, 0, 0, 0, 3, 0')} y = Pad (x, p)", (1, 0, 3, 0)),
        (13, "2,4,4,5", f"{PADS.format('0, 1, 0, 0, 0, 0, 0, 0')} y = Pad (x, p)", (1, 0, 0, 0, 0, 0)),
        (18, "2,3,8,11", f"{PADS.format('2, 1, 4, 3')} v = Constant <value_float = 0.0> () "
         "a = Constant <value_ints = [-1, 2]> () y = Pad (x, p, v, a)", (1, 2, 3, 4)),
    ],
)  # fmt: skip
def test_zeros_around_the_last_axes_are_read_and_written_back_as_they_were(read, opset, size, body, pads):
    model = read(HEAD.format(opset, "", size, body))
    assert known(model) == ("Pad", pads)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


@pytest.mark.parametrize(
    ("size", "pads", "parts"),
    [
        ("2,3,4,9", "0, 0, 0, 3, 0, 0, 0, 1", ["Expand", "Var", "Slice"]),
        ("2,3,6,5", "0, 0, 0, 0, 0, 0, 2, 0", ["Var", "Expand"]),
        ("4,3,4,5", "2, 0, 0, 0, 0, 0, 0, 0", ["Expand", "Var"]),
    ],
)
def test_ends_of_one_axis_are_read_as_joined_and_written_back_as_they_were(op, read, size, pads, parts):
    body = f'{PADS.format(pads)} y = Pad <mode = "edge"> (x, p)'
    model = read(HEAD.format(13, "", size, body))
    (output,) = model.graph.outputs
    assert [getattr(part, "operator", type(part).__name__) for part in output.args] == parts
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()
    (x,), image = model.graph.inputs, np.random.default_rng(0).standard_normal((2, 3, 4, 5))
    around = np.array([int(pad) for pad in pads.split(", ")]).reshape(2, 4).T
    (values,) = evaluate_arrays(op, FloatArrays(), [output], {x: image})
    np.testing.assert_array_equal(values, np.pad(image, around, mode="edge"))


@pytest.mark.parametrize(
    ("opset", "more", "size", "body"),
    [
        (9, "", "2,3,8,11", f"y = Pad <mode = \"edge\", pads = [{ALL}]> (x)"),
        (9, "", "2,3,8,11", f"y = Pad <pads = [{ALL}], value = 1.0> (x)"),
        (13, "", "2,3,3,5", f"{PADS.format('0, 0, -1, 0, 0, 0, 0, 0')} y = Pad (x, p)"),
        (13, ", int64[8] p", "2,3,A,B", "y = Pad (x, p)"),
        (13, ", float v", "2,3,8,11", f"{PADS.format(ALL)} y = Pad (x, p, v)"),
        (13, "", "2,3,8,11", f"{PADS.format(ALL)} v = Constant <value_float = 2.0> () y = Pad (x, p, v)"),
        (13, "", "2,3,8,11", f"{PADS.format(ALL)} y = Pad <mode = \"reflect\"> (x, p)"),
        (13, "", "2,3,A,5", f"{PADS.format('0, 0, 1, 0, 0, 0, 0, 0')} y = Pad <mode = \"edge\"> (x, p)"),
    ],
)  # fmt: skip
def test_other_padding_stays_opaque(read, opset, more, size, body):
    assert known(read(HEAD.format(opset, more, size, body)))[1] is None
