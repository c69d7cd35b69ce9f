"""What a model consists of."""

import pytest
from onnx import parser

from taso_opt.onnx_io import computes_in_singles, operator_counts, rounds_to_integers

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
QUANTIZED = "i, s, o = DynamicQuantizeLinear(x)  q = DequantizeLinear(i, s, o)"
BRANCH = "If(c) <then_branch = t () => (double[2] p) { p = Neg(x) }, else_branch = e () => (double[2] q) { %s }>"


@pytest.mark.parametrize(
    ("text", "singles"),
    [
        ("(double[2] x) => (double[2] y) { y = Relu(x) }", False),
        ("(float[2] x) => (double[2] y) { y = Cast<to = 11>(x) }", True),
        ("(double[2] x) => (double[2] y) { a = Cast<to = 10>(x)  b = Sin(a)  y = Cast<to = 11>(b) }", True),
        ("(double[2] x) => (double[2] y) <float w = {2}> { v = Cast<to = 11>(w)  y = Mul(x, v) }", True),
        ("(double[2] x, bool c) => (double[2] y) { y = " + BRANCH % "q = Abs(x)" + " }", False),
        (
            "(double[2] x, bool c) => (double[2] y) { y = "
            + BRANCH % "s = Cast<to = 1>(x)  q = Cast<to = 11>(s)"
            + " }",
            True,
        ),
    ],
)
def test_single_floats_are_found_wherever_they_are(text, singles):
    assert computes_in_singles(parser.parse_model(HEAD + text)) == singles


def test_operators_are_counted_in_branches_too():
    text = "(double[2] x, bool c) => (double[2] y) { y = " + BRANCH % "q = Abs(x)" + " }"
    assert operator_counts(parser.parse_model(HEAD + text)) == {"Abs": 1, "If": 1, "Neg": 1}


@pytest.mark.parametrize(("rest", "rounds"), [(QUANTIZED, True), ("q = Sigmoid(x)", False)])
def test_quantization_is_found_in_branches_too(rest, rounds):
    branch = BRANCH.replace("double", "float") % rest
    model = parser.parse_model(HEAD + f"(float[2] x, bool c) => (float[2] y) {{ y = {branch} }}")
    assert rounds_to_integers(model) is rounds
