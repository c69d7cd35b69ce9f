"""LSTM, GRU and RNN are read in the form that most models have, and written as they were; other forms stay opaque."""

import pytest

from taso_opt.core.term import Apply, Item
from taso_opt.onnx_io import write_model

LSTM = "float[7,2,5] x, float[1,12,5] w, float[1,12,3] r, float[1,24] b, float[1,2,3] h, float[1,2,3] c"
GRU = "float[7,2,5] x, float[1,9,5] w, float[1,9,3] r, float[1,18] b, float[1,2,3] h"
RNN = "float[7,2,5] x, float[1,3,5] w, float[1,3,3] r, float[1,6] b, float[1,2,3] h"
STATE = "float[1,2,3]"


def model(inputs, outputs, node, opset=17):
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{ {node} }}'


@pytest.mark.parametrize(
    ("inputs", "outputs", "node", "used"),
    [
        (
            LSTM,
            f"float[7,1,2,3] y, {STATE} u, {STATE} v",
            "y, u, v = LSTM<hidden_size = 3>(x, w, r, b, , h, c)",
            [0, 1, 2],
        ),
        (LSTM, f"{STATE} u", "y, u = LSTM<hidden_size = 3>(x, w, r, b, , h, c)", [1]),
        (LSTM, f"{STATE} v", ", , v = LSTM<hidden_size = 3>(x, w, r, b, , h, c)", [2]),
        (GRU, f"float[7,1,2,3] y, {STATE} u", "y, u = GRU<hidden_size = 3>(x, w, r, b, , h)", [0, 1]),
        (GRU, f"{STATE} u", ", u = GRU<hidden_size = 3, linear_before_reset = 1>(x, w, r, b, , h)", [1]),
        (RNN, f"float[7,1,2,3] y, {STATE} u", "y, u = RNN<hidden_size = 3>(x, w, r, b, , h)", [0, 1]),
        (RNN, f"{STATE} u", ', u = RNN<hidden_size = 3, activations = ["relu"]>(x, w, r, b, , h)', [1]),
    ],
)
def test_they_are_read_with_the_outputs_that_are_used_and_written_as_they_were(read, inputs, outputs, node, used):
    found = read(model(inputs, outputs, node))
    terms = found.graph.outputs
    assert all(isinstance(term, Item) and term.term.operator in node for term in terms)
    assert [term.index for term in terms] == used
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()


@pytest.mark.parametrize("late", [0, 1])
def test_where_the_reset_gate_stands_is_kept(read, late):
    node = f", u = GRU<hidden_size = 3, linear_before_reset = {late}>(x, w, r, b, , h)"
    (term,) = read(model(GRU, f"{STATE} u", node)).graph.outputs
    assert term.term.attribute("linear_before_reset") == late


@pytest.mark.parametrize(("said", "activation"), [("", "Tanh"), (', activations = ["Relu"]', "Relu")])
def test_the_activation_of_an_elman_network_is_kept(read, said, activation):
    (term,) = read(model(RNN, f"{STATE} u", f", u = RNN<hidden_size = 3{said}>(x, w, r, b, , h)")).graph.outputs
    assert term.term.attribute("activation") == activation


@pytest.mark.parametrize(
    ("inputs", "outputs", "node"),
    [
        (LSTM, f"{STATE} u", ", u = LSTM<hidden_size = 3>(x, w, r, b)"),
        (LSTM, f"{STATE} u", ", u = LSTM<hidden_size = 3>(x, w, r, , , h, c)"),
        (LSTM + ", int32[2] lengths", f"{STATE} u", ", u = LSTM<hidden_size = 3>(x, w, r, b, lengths, h, c)"),
        (LSTM + ", float[1,9] p", f"{STATE} u", ", u = LSTM<hidden_size = 3>(x, w, r, b, , h, c, p)"),
        (LSTM, f"{STATE} u", ', u = LSTM<hidden_size = 3, direction = "reverse">(x, w, r, b, , h, c)'),
        (LSTM, f"{STATE} u", ", u = LSTM<hidden_size = 3, clip = 2.0>(x, w, r, b, , h, c)"),
        (RNN, f"{STATE} u", ", u = RNN<hidden_size = 3, clip = 0.0>(x, w, r, b, , h)"),
        (LSTM, f"{STATE} u", ", u = LSTM<hidden_size = 3, input_forget = 1>(x, w, r, b, , h, c)"),
        (
            LSTM,
            f"{STATE} u",
            ', u = LSTM<hidden_size = 3, activations = ["Sigmoid", "Relu", "Tanh"]>(x, w, r, b, , h, c)',
        ),
        (GRU, f"{STATE} u", ", u = GRU<hidden_size = 3>(x, w, r, b)"),
        (GRU, f"{STATE} u", ', u = GRU<hidden_size = 3, direction = "reverse">(x, w, r, b, , h)'),
        (RNN, f"{STATE} u", ', u = RNN<hidden_size = 3, activations = ["Sigmoid"]>(x, w, r, b, , h)'),
        (RNN, f"{STATE} u", ", u = RNN<hidden_size = 3>(x, w, r, , , h)"),
    ],
    ids=[
        "no states",
        "no biases",
        "lengths",
        "peepholes",
        "reverse",
        "clip",
        "clip to 0",
        "coupled",
        "activations",
        "gru",
        "reverse gru",
        "sigmoid",
        "rnn without biases",
    ],
)
def test_other_forms_stay_opaque(read, inputs, outputs, node):
    (term,) = read(model(inputs, outputs, node)).graph.outputs
    whole = term.term if isinstance(term, Item) else term
    assert isinstance(whole, Apply)
    assert whole.operator == "Opaque"


def test_a_model_that_names_the_usual_functions_is_read(read):
    node = ', u = LSTM<hidden_size = 3, activations = ["sigmoid", "Tanh", "Tanh"]>(x, w, r, b, , h, c)'
    (term,) = read(model(LSTM, f"{STATE} u", node)).graph.outputs
    assert term.term.operator == "LSTM"
