"""Two models that cannot run whole are compared by what is left without the operators that nobody has here."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from taso_opt.api import CompareSettings, compare_files
from taso_opt.errors import UnsupportedError

LIBRARY = """<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[4,64] x) => (float[4,16] y, float[4,16] z) <float[4,64] h>
{ h = com.example.Mystery(x)  a = MatMul(h, v)  b = MatMul(a, w)  z = Relu(b)  y = com.example.Mystery <k = 2> (b) }"""
QUICK = CompareSettings(rounds=3)
DRAWN = np.random.default_rng(0)
CHAIN = {"v": DRAWN.standard_normal((64, 256), np.float32), "w": DRAWN.standard_normal((256, 16), np.float32)}
ONE = {"u": CHAIN["v"] @ CHAIN["w"]}
MERGED = LIBRARY.replace("a = MatMul(h, v)  b = MatMul(a, w)", "b = MatMul(h, u)")


@pytest.fixture
def save(tmp_path):
    def write(name, text, weights):
        model = parser.parse_model(text)
        model.graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in weights.items())
        onnx.save(model, tmp_path / name)
        return tmp_path / name

    return write


def test_what_is_left_of_both_is_compared_and_a_warning_says_so(save):
    first, second = save("first.onnx", LIBRARY, CHAIN), save("second.onnx", MERGED, ONE)
    found = compare_files(first, second, QUICK)
    assert found.agrees and 0 < found.max_rel_error < 1e-4
    assert found.warnings[0].startswith("the whole model does not run here, so only its parts with known operators")


def test_other_weights_between_them_are_noticed(save):
    first, second = save("first.onnx", LIBRARY, CHAIN), save("second.onnx", MERGED, {"u": 2 * ONE["u"]})
    assert not compare_files(first, second, QUICK).agrees


@pytest.mark.parametrize(
    ("old", "new"), [("<k = 2>", "<k = 3>"), ("= com.example.Mystery(x)", "= com.example.Other(x)")]
)
def test_other_operators_that_nobody_has_cannot_be_compared(save, old, new):
    assert old in MERGED
    first, second = save("first.onnx", LIBRARY, CHAIN), save("second.onnx", MERGED.replace(old, new), ONE)
    with pytest.raises(UnsupportedError, match="expected the same node that gives"):
        compare_files(first, second, QUICK)


def test_other_names_of_what_bodies_capture_make_no_other_operator(save):
    head = '<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>'
    mystery = "then_branch = t () => (float[64] a) { a = com.example.Mystery(CAPTURED) }"
    branches = f"<{mystery}, else_branch = e () => (float[64] b) {{ b = Neg(CAPTURED) }}>"
    text = head + f"g (float[64] x, bool c) => (float[64] z) {{ r = Relu(x)  z = If(c) {branches} }}"
    first = save("first.onnx", text.replace("CAPTURED", "r"), {})
    second = save("second.onnx", text.replace("CAPTURED", "s").replace("r = Relu(x)", "s = Relu(x)"), {})
    assert compare_files(first, second, QUICK).agrees
    other = save("other.onnx", text.replace("b = Neg", "b = Abs").replace("CAPTURED", "r"), {})
    with pytest.raises(UnsupportedError, match="expected the same node that gives"):
        compare_files(first, other, QUICK)
