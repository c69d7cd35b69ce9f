"""Independent copies of a model in one."""

import numpy as np
import onnxruntime as ort
from onnx import checker, numpy_helper, parser

from taso_opt.onnx_io import repeat

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


def test_one_copy_is_the_model_itself():
    once = model()
    repeat(once, 1)
    assert once == model()
