"""Small models made for measuring."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Const, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import SpecError
from taso_opt.onnx_io import fill_weights, set_weights_aside, standalone_model
from taso_opt.spec import OPAQUE, load_specs

N = symbol("n")
IMAGE = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 1}


def variable(name, *shape, dtype="float32"):
    return Var(name, TensorType(dtype, shape))


def constant(name, *shape, dtype="float32"):
    return Const(name, TensorType(dtype, shape))


def made(builder, outputs, inputs=(), opset=17, ir_version=8, **settings):
    model = onnx.load_from_string(
        standalone_model(builder, outputs, inputs, opset=opset, ir_version=ir_version, **settings)
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model, *arrays):
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: array for value, array in zip(session.get_inputs(), arrays, strict=True)})


def test_a_convolution_and_a_relu_become_two_nodes_over_one_input_and_one_weight():
    op = load_specs().builder({"n": 2})
    model = made(op, [op.Relu(op.Conv(variable("x", N, 3, 8, 8), constant("w", 4, 3, 3, 3), **IMAGE))])
    assert [node.op_type for node in model.graph.node] == ["Conv", "Relu"]
    assert [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == [2, 3, 8, 8]
    assert [list(tensor.dims) for tensor in model.graph.initializer] == [[4, 3, 3, 3]]
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    (y,) = run(model, x)
    assert y.shape == (2, 4, 8, 8)
    assert y.min() == 0 < y.max()


def test_computation_behind_an_input_is_left_out():
    op = load_specs().builder()
    product = op.MatMul(variable("x", 2, 3), variable("y", 3, 4))
    model = made(op, [op.Tanh(product)], inputs=[product])
    assert [node.op_type for node in model.graph.node] == ["Tanh"]
    (z,) = run(model, np.full((2, 4), 0.5, np.float32))
    assert z == pytest.approx(np.tanh(0.5))


def test_weights_that_are_computed_from_constants_become_one_initializer():
    op = load_specs().builder()
    joined = op.Concat(constant("w", 3, 4), constant("v", 3, 2), axis=-1)
    model = made(op, [op.MatMul(variable("x", 2, 3), joined)])
    assert [node.op_type for node in model.graph.node] == ["MatMul"]
    assert [list(tensor.dims) for tensor in model.graph.initializer] == [[3, 6]]


def test_a_weight_part_that_is_split_off_a_constant_becomes_an_initializer():
    op = load_specs().builder()
    part = op.item(op.Split(constant("w", 3, 6), axis=-1, sizes=(2, 4)), 1)
    model = made(op, [op.MatMul(variable("x", 2, 3), part)])
    assert [list(tensor.dims) for tensor in model.graph.initializer] == [[3, 4]]


def test_given_constants_are_used():
    op = load_specs().builder()
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    model = made(op, [op.MatMul(variable("x", 1, 3), constant("w", 3, 2))], constant_values=lambda _: weight)
    assert np.array_equal(numpy_helper.to_array(model.graph.initializer[0]), weight)
    (y,) = run(model, np.ones((1, 3), np.float32))
    assert y.tolist() == [[6, 9]]


def test_equal_structures_give_equal_bytes_whatever_their_names():
    op = load_specs().builder({"n": 5})
    models = [
        standalone_model(op, [op.MatMul(variable(x, N, 3), constant(w, 3, 2))], opset=13, ir_version=7)
        for x, w in (("x", "w"), ("other", "weights"))
    ]
    assert models[0] == models[1]
    product = op.MatMul(variable("x", N, 3), constant("w", 3, 2))
    another = standalone_model(op, [product], opset=13, ir_version=7, seed=1)
    assert another != models[0]


def test_a_hollow_model_is_filled_with_the_weights_that_it_would_have_had():
    op = load_specs().builder()
    outputs = [op.Add(op.MatMul(variable("x", 2, 3), constant("w", 3, 2)), constant("b", 2))]
    whole, hollow = (
        ModelProto.FromString(standalone_model(op, outputs, opset=13, ir_version=7, hollow=hollow))
        for hollow in (False, True)
    )
    assert hollow != whole and not any(tensor.raw_data for tensor in hollow.graph.initializer)
    fill_weights(hollow)
    assert hollow == whole


def test_large_weights_of_a_hollow_model_are_set_aside_each_time():
    op = load_specs().builder()
    outputs = [op.Add(op.MatMul(variable("x", 2, 300), constant("w", 300, 400)), constant("b", 400))]
    model = ModelProto.FromString(standalone_model(op, outputs, opset=13, ir_version=7, hollow=True))
    (first,) = set_weights_aside(model).items()
    small, large = sorted(model.graph.initializer, key=lambda tensor: len(tensor.dims))
    assert len(small.raw_data) == 1600 and not large.raw_data
    assert (first[0], first[1].shape) == (large.name, (300, 400)) and np.unique(first[1]).size > 1000
    before = model.SerializeToString()
    (again,) = set_weights_aside(model).items()
    assert again[0] == first[0] and np.array_equal(again[1], first[1])
    assert model.SerializeToString() == before
    fill_weights(model)
    assert model.SerializeToString() == filled(op, outputs)


def filled(op, outputs):
    model = ModelProto.FromString(standalone_model(op, outputs, opset=13, ir_version=7, hollow=True))
    fill_weights(model)
    return model.SerializeToString()


@pytest.mark.parametrize("filling", [fill_weights, set_weights_aside])
def test_numbers_that_are_there_stay_in_whatever_field_they_stand(filling):
    numbers = helper.make_tensor("n", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    sizes = helper.make_tensor("s", TensorProto.INT64, [2], [4, 5])
    raw = numpy_helper.from_array(np.arange(6.0, dtype=np.float32), "r")
    assert numbers.float_data and sizes.int64_data and raw.raw_data
    model = helper.make_model(helper.make_graph([], "g", [], [], [numbers, sizes, raw]))
    before = model.SerializeToString()
    assert not filling(model)
    assert model.SerializeToString() == before


def test_all_parts_of_a_split_are_outputs_in_their_order():
    op = load_specs().builder()
    split = op.Split(variable("x", 2, 6), axis=-1, sizes=(1, 2, 3))
    model = made(op, [split], opset=11)
    assert [value.name for value in model.graph.output] == ["o0", "o1", "o2"]
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    assert [part.tolist() for part in run(model, x)] == [x[:, :1].tolist(), x[:, 1:3].tolist(), x[:, 3:].tolist()]


def test_an_output_that_is_an_input_or_stands_twice_still_gives_a_valid_model():
    op = load_specs().builder()
    x = variable("x", 2)
    y = op.Relu(x)
    model = made(op, [x, y, y, constant("c", 2)])
    a, b, c, d = run(model, np.array([-1, 2], np.float32))
    assert (a.tolist(), b.tolist(), c.tolist(), d.shape) == ([-1, 2], [0, 2], [0, 2], (2,))


def test_a_symbolic_size_in_an_attribute_is_bound():
    op = load_specs().builder({"n": 4})
    model = made(op, [op.Reshape(variable("x", N, 6), shape=(N, 2, 3))])
    (y,) = run(model, np.zeros((4, 6), np.float32))
    assert y.shape == (4, 2, 3)


def test_the_constant_stands_behind_the_other_operand_of_a_sum():
    op = load_specs().builder()
    for name in "abcdefgh":
        model = made(op, [op.Add(variable(name, 2, 3), constant("bias", 3))])
        assert list(model.graph.node[0].input) == ["i0", "c0"]


def test_an_unbound_size_is_refused_in_one_sentence():
    op = load_specs().builder()
    with pytest.raises(SpecError, match=r"expected a number for every size of a model to be measured, found \[n, 3\]"):
        standalone_model(op, [op.Relu(variable("x", N, 3))], opset=17, ir_version=8)


def test_an_opaque_term_is_refused_in_one_sentence():
    op = load_specs().builder()
    kind = TensorType("float32", (2,))
    term = Apply(OPAQUE, (variable("x", 2),), (("node", 3), ("types", (kind,))))
    with pytest.raises(SpecError, match="expected an operator that ONNX can express at opset 17, found Opaque"):
        standalone_model(op, [term], opset=17, ir_version=8)
