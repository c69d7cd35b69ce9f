"""Clipping between ends that rules bind: what is read as it, how it is written, and what the runtime makes of it."""

from fractions import Fraction

import numpy as np
import pytest

from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import write_model
from taso_opt.rewrite.patterns.apply import substitute_terms

X = np.array([[-np.inf, -3, -0.5, 0], [0.5, 3, np.inf, np.nan]], np.float32)


def model(body, inputs="float[2,4] x", opset=17):
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => (float[2,4] y) {{ {body} }}'


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (1.0, -1.0)])
def test_ends_that_are_not_constant_are_operands_in_any_order(read, run, low, high):
    found = read(model("t = Relu(x)  y = Clip(t, l, u)", "float[2,4] x, float l, float u"))
    (term,) = found.graph.outputs
    assert isinstance(term, Apply) and (term.operator, len(term.args)) == ("Clamp", 3)
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()
    feed = {"x": X, "l": np.array(low, np.float32), "u": np.array(high, np.float32)}
    expected = np.minimum(np.maximum(np.maximum(X, 0), np.float32(low)), np.float32(high))
    np.testing.assert_array_equal(run(found.proto, feed)["y"], expected)


@pytest.mark.parametrize("node", ["Clip(x, , e)", "Clip(x, e)"])
def test_with_an_end_missing_only_constants_are_read(read, node):
    (term,) = read(model(f"y = {node}", "float[2,4] x, float e")).graph.outputs
    assert isinstance(term, Apply) and term.operator != "Clamp"


@pytest.mark.parametrize("opset", [9, 11, 17])
@pytest.mark.parametrize(("low", "high"), [("-1/2", "3/2"), ("3/2", "-1/2")])
def test_a_pair_of_bounds_is_written_as_one_node(read, run, opset, low, high):
    lines = model("t = Min(x, u)  y = Max(t, l)", "float[2,4] x, float l, float u", opset)
    found = read(lines)
    op, (whole,) = found.builder, found.graph.outputs
    x = found.graph.inputs[0]
    ends = [literal(value, "float32") for value in map(Fraction, (low, high))]
    clamp = op.Clamp(x, ends[0], op.Max(*ends))
    assert op.type(clamp) == TensorType("float32", (2, 4))
    graph = Graph(found.graph.inputs, substitute_terms(op, (whole,), {whole: clamp}))
    written = write_model(found, graph)
    assert [node.op_type for node in written.graph.node] == ["Clip"]
    feed = {"x": X, "l": np.array(float(Fraction(low)), np.float32), "u": np.array(float(Fraction(high)), np.float32)}
    np.testing.assert_array_equal(run(written, feed)["y"], run(found.proto, feed)["y"])
