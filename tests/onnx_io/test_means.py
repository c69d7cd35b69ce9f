"""Means and sums that drop their axes are those that keep them, reshaped; a mean of tensors is a sum and a product."""

import numpy as np
import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.onnx_io import write_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def test_a_mean_without_its_axes_is_a_reshaped_mean_and_stays_the_node_it_is(read):
    text = HEAD + "g (float[2,5,3] x) => (float[2,3] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }"
    model = read(text)
    (output,) = model.graph.outputs
    assert output.operator == "Reshape"
    assert output.attribute("shape") == (2, 3)
    assert output.args[0].attribute("axes") == (-2,)
    assert model.builder.type(output.args[0]).shape == (2, 1, 3)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_a_mean_of_a_symbolic_number_of_tokens_is_read(read):
    text = HEAD + "g (float[N,T,3] x) => (float[N,3] y) { y = ReduceMean <axes = [-2], keepdims = 0> (x) }"
    model = read(text)
    (output,) = model.graph.outputs
    assert [str(dim) for dim in output.attribute("shape")] == ["N", "3"]


@pytest.mark.parametrize(("opset", "spelled"), [(11, "<axes = [-1, 1], keepdims = 1> (x)"), (13, "(x, axes)")])
def test_a_sum_is_read_and_written_in_the_words_of_its_opset(read, opset, spelled):
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    axes = "<int64[2] axes = {-1, 1}>" if "axes)" in spelled else ""
    model = read(f"{head} g (float[2,5,3] x) => (float[2,1,1] y) {axes} {{ y = ReduceSum {spelled} }}")
    (output,) = model.graph.outputs
    assert output.operator == "ReduceSum"
    assert output.attribute("axes") == (-2, -1)
    assert model.builder.type(output).shape == (2, 1, 1)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_a_sum_without_its_axes_is_a_reshaped_sum(read):
    model = read(
        HEAD + "g (float[2,5,3] x) => (float[5] y) <int64[2] axes = {0, 2}> { y = ReduceSum <keepdims = 0> (x, axes) }"
    )
    (output,) = model.graph.outputs
    assert (output.operator, output.attribute("shape")) == ("Reshape", (5,))
    assert output.args[0].attribute("axes") == (-3, -1)


@pytest.mark.parametrize(
    "sum_",
    [
        "(float[2,3] x) => (float[1,1] y) { y = ReduceSum (x) }",
        "(float[2,3] x) => (float[2,3] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }",
        "(float[2,3] x, int64[1] axes) => (float[N,M] y) { y = ReduceSum (x, axes) }",
    ],
)
def test_a_sum_over_unknown_axes_stays_opaque(read, sum_):
    model = read(HEAD + "g " + sum_)
    assert model.graph.outputs[0].operator != "ReduceSum"


def test_a_mean_over_all_pixels_is_read_and_stays_the_node_it_is(read):
    model = read(HEAD + "g (float[2,3,4,5] x) => (float[2,3,1,1] y) { y = GlobalAveragePool (x) }")
    (output,) = model.graph.outputs
    assert output.operator == "GlobalAveragePool"
    assert model.builder.type(output).shape == (2, 3, 1, 1)
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_a_mean_of_tensors_is_read_as_their_sum_times_a_share(read, run):
    model = read(HEAD + "g (float[2,3] x, float[3] y) => (float z) { z = Mean(x, y, x) }")
    (output,) = model.graph.outputs
    assert [term.operator for term in postorder([output]) if isinstance(term, Apply)] == ["Add", "Add", "Mul"]
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    leaves = {leaf: value.astype(np.float64) for leaf, value in zip(model.graph.inputs, (x, y), strict=True)}
    (mine,) = evaluate_arrays(model.builder, FloatArrays(), [output], leaves)
    np.testing.assert_allclose(run(model.proto, {"x": x, "y": y})["z"], mine, rtol=1e-6)
