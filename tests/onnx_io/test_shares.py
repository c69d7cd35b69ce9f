"""Softmax and LogSoftmax are read where they go over one axis: since opset 13, and before only along the last one."""

import pytest

from taso_opt.onnx_io import write_model

NAMES = ("LogSoftmax", "Softmax")


def head(opset):
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[2,5,3] x) => (float[2,5,3] y) '


@pytest.mark.parametrize(
    ("opset", "attributes", "axis"),
    [(13, "", -1), (13, "<axis = 1>", -2), (17, "<axis = -3>", -3), (11, "<axis = 2>", -1), (11, "<axis = -1>", -1)],
)
@pytest.mark.parametrize("name", NAMES)
def test_shares_along_one_axis_are_read_and_written_as_they_were(read, name, opset, attributes, axis):
    model = read(head(opset) + f"{{ y = {name} {attributes} (x) }}")
    (output,) = model.graph.outputs
    assert (output.operator, output.attribute("axis")) == (name, axis)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("attributes", ["", "<axis = 1>", "<axis = 0>"])
def test_shares_of_several_axes_together_stay_opaque(read, name, attributes):
    model = read(head(11) + f"{{ y = {name} {attributes} (x) }}")
    assert model.graph.outputs[0].operator != name
