"""Flatten, Squeeze and Unsqueeze are read as the reshapes that they are, where their axes and sizes tell which."""

import pytest

from taso_opt.core.term import Apply
from taso_opt.onnx_io import write_model


def model(opset, operator, attributes="", shape="2,1,5,1", axes=None):
    """One node, with axes as an operand where some are given."""
    weights = "" if axes is None else f"<int64[{len(axes)}] axes = {{{', '.join(map(str, axes))}}}> "
    operands = "x" if axes is None else "x, axes"
    head = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[{shape}] x) => (float y) {weights}'
    return f"{head}{{ y = {operator} {attributes} ({operands}) }}"


READ = [
    (model(17, "Flatten"), (2, 5)),
    (model(17, "Flatten", "<axis = 0>"), (1, 10)),
    (model(17, "Flatten", "<axis = -2>"), (2, 5)),
    (model(17, "Flatten", "<axis = 4>"), (10, 1)),
    (model(11, "Squeeze", "<axes = [1]>"), (2, 5, 1)),
    (model(11, "Squeeze"), (2, 5)),
    (model(17, "Squeeze", axes=[-1, 1]), (2, 5)),
    (model(17, "Squeeze"), (2, 5)),
    (model(11, "Unsqueeze", "<axes = [0, 5]>"), (1, 2, 1, 5, 1, 1)),
    (model(17, "Unsqueeze", axes=[2]), (2, 1, 1, 5, 1)),
    (model(17, "Unsqueeze", axes=[-2], shape="7"), (1, 7)),
    (model(17, "Unsqueeze", axes=[-2], shape="n,c,w"), ("n", "c", 1, "w")),
    (model(17, "Squeeze", axes=[1], shape="n,1,w"), ("n", "w")),
    (model(18, "Unsqueeze", axes=[2]).replace("int64[1]", "int64"), (2, 1, 1, 5, 1)),  # as torch.onnx writes it
]
OPAQUE = {
    "two sizes that are not known behind a new axis": model(17, "Unsqueeze", axes=[0], shape="n,c"),
    "sizes that are not known to be one": model(17, "Squeeze", axes=[0], shape="n,c"),
    "any axes of sizes that are not known": model(17, "Squeeze", shape="n,1"),
    "axes that a caller gives": '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x, int64[1] axes) '
    "=> (float y) { y = Unsqueeze (x, axes) }",
}


@pytest.mark.parametrize(("text", "shape"), READ)
def test_another_shape_is_read_and_written_as_it_was(read, text, shape):
    found = read(text)
    (output,) = found.graph.outputs
    assert isinstance(output, Apply)
    assert output.operator == "Reshape"
    assert tuple(dim if isinstance(dim, int) else str(dim) for dim in output.attribute("shape")) == shape
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()


@pytest.mark.parametrize("name", OPAQUE)
def test_a_shape_that_cannot_be_told_stays_opaque(read, name):
    (output,) = read(OPAQUE[name]).graph.outputs
    assert output.operator != "Reshape"
