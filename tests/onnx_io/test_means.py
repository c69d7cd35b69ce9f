"""Means that drop their axes are means that keep them, reshaped."""

from taso_opt.onnx_io import write_model

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
