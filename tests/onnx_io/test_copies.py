"""Copies of a model in one: side by side, and in a row."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, checker, helper, numpy_helper, parser

from taso_opt.onnx_io import chain, repeat

GRAPH = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x) => (float[2,4] y, float[2,4] z) { m = MatMul(x, w)  y = Clip(m, , most)  z = Exp(m) }"""


def model():
    made = parser.parse_model(GRAPH)
    weights = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    made.graph.initializer.extend(
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.float32(1.5), "most")]
    )
    return made


def run(made, feed):
    return ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def test_each_copy_computes_from_its_own_inputs_what_the_model_does():
    once, thrice = model(), model()
    repeat(thrice, 3)
    checker.check_model(thrice, full_check=True)
    names = [value.name for value in thrice.graph.input]
    assert len(names) == len(set(names)) == 3 and names[0] == "x"
    values = [np.random.default_rng(place).random((2, 3), np.float32) for place in range(3)]
    found = run(thrice, dict(zip(names, values, strict=True)))
    expected = [output for value in values for output in run(once, {"x": value})]
    assert [output.tolist() for output in found] == [output.tolist() for output in expected]


def test_turns_read_the_same_weights_on_inputs_of_their_own():
    once, turned = model(), model()
    repeat(turned, 2, turns=3)
    checker.check_model(turned, full_check=True)
    assert len(turned.graph.initializer) == 2 * len(once.graph.initializer)
    names = [value.name for value in turned.graph.input]
    values = [np.random.default_rng(place).random((2, 3), np.float32) for place in range(6)]
    found = run(turned, dict(zip(names, values, strict=True)))
    expected = [output for value in values for output in run(once, {"x": value})]
    assert [output.tolist() for output in found] == [output.tolist() for output in expected]
    products = [node.input[1] for node in turned.graph.node if node.op_type == "MatMul"]
    assert products[:2] * 3 == products and len(set(products)) == 2


def test_one_copy_is_the_model_itself():
    once = model()
    repeat(once, 1)
    assert once == model()


def test_copies_in_a_row_each_take_the_result_of_the_one_before():
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,3] x, float[2,4] z) => (float[2,4] y) { m = MatMul(x, w)  y = Sub(m, z) }"""
    made = parser.parse_model(text)
    weights = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    made.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    chain(made, 3, "z", "y")
    names = [value.name for value in made.graph.input]
    assert names[:2] == ["x", "z"] and len(names) == 4
    x, z, second, third = (np.random.default_rng(at).random((2, 4 if at == 1 else 3), np.float32) for at in range(4))
    feed = dict(zip(names, (x, z, second, third), strict=True))
    assert [output.tolist() for output in run(made, feed)] == [[2, 4]]
    last = made.graph.node[-1].input[0]
    made.graph.output.append(helper.make_tensor_value_info(last, TensorProto.FLOAT, [2, 4]))
    expected = third @ weights - (second @ weights - (x @ weights - z))
    assert np.allclose(run(made, feed)[1], expected, rtol=1e-5, atol=1e-6)
