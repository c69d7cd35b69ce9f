"""Functions of numbers in the words of models: the library's rules lead to the fewest operators that say them."""

import onnx.parser
import pytest

from fake_cost import FakeCost
from taso_opt.api.session import usable_rules
from taso_opt.core.rule import FpClass
from taso_opt.onnx_io import read_model, spellable
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import SearchLimits

NUMBERS = ["0", "0.1", "0.4", "0.5", "0.6", "0.9", "1", "2", "3", "6", "0.044715", "0.7978846"]
AFFINE = ("scale", 3), ("shift", 7)
"""Weights of eight elements, with their last digits."""

SPELLED = {
    "0.6 x + 0.4 |x|": ("m = Abs(x); a = Mul(n0_6, x); b = Mul(m, n0_4); y = Add(a, b)", ["LeakyRelu"]),
    "0.1 x + 0.9 relu(x)": ("m = Relu(x); a = Mul(n0_1, x); b = Mul(m, n0_9); y = Add(a, b)", ["LeakyRelu"]),
    "x + 0.9 relu(-x)": ("m = Neg(x); a = Relu(m); b = Mul(a, n0_9); y = Add(x, b)", ["LeakyRelu"]),
    "(x + |x|) / 2": ("m = Abs(x); a = Add(x, m); y = Div(a, n2)", ["Relu"]),
    "-min(-x, 0)": ("m = Neg(x); a = Min(m, n0); y = Neg(a)", ["Relu"]),
    "relu(x) + relu(-x)": ("a = Relu(x); m = Neg(x); b = Relu(m); y = Add(a, b)", ["Abs"]),
    "2 relu(x) - x": ("a = Relu(x); b = Mul(a, n2); y = Sub(b, x)", ["Abs"]),
    "0.5 tanh(0.5 x) + 0.5": ("a = Mul(n0_5, x); b = Tanh(a); c = Mul(b, n0_5); y = Add(c, n0_5)", ["Sigmoid"]),
    "(tanh(x / 2) + 1) / 2": ("a = Div(x, n2); b = Tanh(a); c = Add(b, n1); y = Div(c, n2)", ["Sigmoid"]),
    "x / (1 + exp(-0.6 x))": (
        "a = Mul(x, n0_6); m = Neg(a); b = Exp(m); c = Add(b, n1); y = Div(x, c)",
        ["Mul", "Mul", "Sigmoid"],
    ),
    "min(max(x + 3, 0), 6) / 6": ("a = Add(x, n3); b = Max(a, n0); c = Min(b, n6); y = Div(c, n6)", ["HardSigmoid"]),
    "clip(x / 6 + 0.5)": ("a = Div(x, n6); b = Add(a, n0_5); y = Clip(b, n0, n1)", ["HardSigmoid"]),
    "x - logsumexp(x)": ("a = ReduceLogSumExp <axes = [-1]> (x); y = Sub(x, a)", ["LogSoftmax"]),
    "gelu by tanh": (
        "c = Mul(x, x); d = Mul(c, x); e = Mul(d, n0_044715); f = Add(x, e); g = Mul(f, n0_7978846);"
        "t = Tanh(g); h = Add(t, n1); i = Mul(x, n0_5); y = Mul(i, h)",
        ["Add", "Mul", "Mul", "Mul", "Mul", "Sigmoid"],
    ),
}


MOMENTS = "m = ReduceMean <axes = [-1]> (x); d = Sub(x, m); q = Mul(d, d); v = ReduceMean <axes = [-1]> (q);"
FACTOR = f"{MOMENTS} e = Add(v, n0_1); s = Sqrt(e); r = Reciprocal(s);"
ONE_FACTOR = "f = Mul(r, scale); a = Mul(x, f); k = Mul(m, f); t = Sub(shift, k); y = Add(a, t)"
NORMALIZED = {
    "by one factor, as TensorFlow does": f"{FACTOR}{ONE_FACTOR}",
    "by one factor of the negative mean, as Keras does": (
        f"{FACTOR} f = Mul(r, scale); a = Mul(x, f); o = Neg(m); k = Mul(o, f); t = Add(k, shift); y = Add(a, t)"
    ),
    "by one factor and nothing else": f"{FACTOR}a = Mul(x, r); k = Mul(m, r); y = Sub(a, k)",
    "by deviations": f"{FACTOR}f = Mul(r, scale); a = Mul(d, f); y = Add(a, shift)",
}
NORMALIZED_CHANNELS = {
    "an image": (
        "2, 8, 3, 5",
        f"{MOMENTS} e = Add(v, n0_1); s = Sqrt(e); z = Div(d, s); w = Mul(z, scale); y = Add(w, shift)",
    ),
    "an image and nothing else": ("2, 8, 3, 5", f"{MOMENTS} e = Add(v, n0_1); s = Sqrt(e); y = Div(d, s)"),
    "a line": ("2, 8, 5", f"{FACTOR} z = Mul(d, r); w = Mul(z, scale); y = Add(w, shift)"),
}


class Operators(FakeCost):
    """One second for each operator, more for powers and for what is said with two operands instead of one."""

    def known(self, unit):
        return {"Pow": 2.0, "Max": 1.1}.get(unit.operator, 1.0)


@pytest.fixture(scope="module")
def rules():
    return usable_rules(None, FpClass.E3)


def searched(folder, library, rules, body, shape="2, 8"):
    """The operators that a search finds for a model of some nodes, whose weights are one element for each channel."""
    numbers = [f"float n{number.replace('.', '_')} = {{{number}}}" for number in NUMBERS]
    weight = ", ".join(["8", *("1" for _ in shape.split(", ")[2:])])
    affine = [
        f"float[{weight}] {name} = {{{', '.join(f'{at}.{tenth}' for at in range(1, 9))}}}" for name, tenth in AFFINE
    ]
    head = f'<ir_version: 8, opset_import: ["" : 17]> g (float[{shape}] x) => (float[{shape}] y)'
    text = f"{head} <{', '.join(numbers + affine)}> {{ {body.replace(';', chr(10))} }}"
    onnx.save(onnx.parser.parse_model(text), folder / "model.onnx")
    model = read_model(folder / "model.onnx", library, {})
    cost = Operators(model.builder)
    rewriter = Rewriter.of_model(model, rules)
    search = BacktrackingSearch(model.builder, rewriter, cost, spellable(model), 1.05, SearchLimits())
    found = search.run(model.graph.outputs).plans[0].outputs
    return sorted(unit.operator for unit in cost.units(found))


@pytest.mark.parametrize("name", SPELLED)
def test_a_spelling_ends_in_the_fewest_operators(tmp_path, library, rules, name):
    body, wanted = SPELLED[name]
    assert searched(tmp_path, library, rules, body) == wanted


@pytest.mark.parametrize("name", NORMALIZED)
def test_a_normalization_of_rows_is_one_operator(tmp_path, library, rules, name):
    assert searched(tmp_path, library, rules, NORMALIZED[name]) == ["LayerNormalization"]


@pytest.mark.parametrize("name", NORMALIZED_CHANNELS)
def test_a_normalization_of_channels_is_one_of_rows(tmp_path, library, rules, name):
    shape, body = NORMALIZED_CHANNELS[name]
    found = searched(tmp_path, library, rules, body.replace("axes = [-1]", "axes = [1]"), shape)
    assert found == ["LayerNormalization", "Transpose", "Transpose"]
