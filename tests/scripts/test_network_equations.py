"""The recurrent and dense benchmark networks against their equations, written once more in NumPy and float64."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from networks import NETWORKS

HIDDEN, STEPS = 6, 3
Weights = dict[str, np.ndarray]


def _sig(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-value))


def _relu(value: np.ndarray) -> np.ndarray:
    return np.maximum(value, 0)


def _run(model: onnx.ModelProto) -> tuple[list[np.ndarray], Weights, Weights]:
    """The outputs, the inputs and the weights of the model, the last two in float64."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(5)
    feeds = {value.name: generator.standard_normal(value.shape, np.float32) for value in session.get_inputs()}
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    wide = [{name: array.astype(np.float64) for name, array in group.items()} for group in (feeds, weights)]
    return session.run(None, feeds), wide[0], wide[1]


def _last_hidden_state(name: str, inputs: Weights, w: Weights) -> np.ndarray:
    h, c = inputs["h0"], inputs.get("c0")
    for step in range(STEPS):
        x = inputs[f"x{step + 1}"]
        first = 8 * step if name == "nasrnn_fresh" else 0
        xw = [x @ w[f"W_{first + gate + 1}"] for gate in range(8 if "nasrnn" in name else 4)]
        hu = [h @ w[f"U_{first + gate + 1}"] for gate in range(len(xw))]
        if "nasrnn" in name:
            z = [a + b for a, b in zip(xw, hu, strict=True)]
            m0, m1 = _relu(z[0]) + _sig(z[3]), _sig(z[1]) + np.tanh(z[2])
            m2, m3 = _sig(z[4]) * np.tanh(z[5]), _sig(z[6]) * _relu(z[7])
            m4, m5 = _sig(m1) + np.tanh(m2), np.tanh(m0) * np.tanh(m3)
            h = np.tanh(np.tanh(m4) * np.tanh(m5))
        elif name == "sublstm":
            i, f, o, z = (_sig(xw[k] + hu[k] + w[f"bias_{k + 1}"]) for k in range(4))
            c = f * c + z - i
            h = _sig(c) - o
        else:
            parts = [_gate(name, xw[k], hu[k], w, k + 1) for k in range(4)]
            c = _sig(parts[1]) * c + _sig(parts[0]) * np.tanh(parts[2])
            h = _sig(parts[3]) * np.tanh(c)
    return h


def _gate(name: str, xw: np.ndarray, hu: np.ndarray, w: Weights, number: int) -> np.ndarray:
    bias = w[f"bias_{number}"]
    if name == "lstm":
        return xw + hu + bias
    return w[f"a_{number}"] * xw * hu + w[f"b1_{number}"] * hu + w[f"b2_{number}"] * xw + bias


@pytest.mark.parametrize("name", ["nasrnn", "nasrnn_fresh", "lstm", "sublstm", "mi_lstm"])
def test_a_recurrent_network_computes_its_equations(name):
    outputs, inputs, weights = _run(NETWORKS[name](steps=STEPS, hidden=HIDDEN))
    np.testing.assert_allclose(outputs[0], _last_hidden_state(name, inputs, weights), rtol=0, atol=1e-6)


def test_sc_rnn_computes_its_equations_at_every_step():
    outputs, inputs, w = _run(NETWORKS["sc_rnn"](steps=STEPS, hidden=HIDDEN, context=4))
    s, h = inputs["s0"], inputs["h0"]
    for step, output in enumerate(outputs):
        x = inputs[f"x{step + 1}"]
        s = 0.05 * x @ w["B_1"] + 0.95 * s
        h = _sig(s @ w["P_1"] + x @ w["A_1"] + h @ w["R_1"])
        np.testing.assert_allclose(output, h @ w["U_1"] + s @ w["V_1"], rtol=0, atol=2e-6)
    assert len(outputs) == STEPS


def test_towers_sum_the_same_three_layers_of_every_input():
    outputs, inputs, w = _run(NETWORKS["towers"](count=3, width=8))
    total = np.zeros((1, 8))
    for value in inputs.values():
        for layer in (1, 2, 3):
            value = _relu(value @ w[f"weight_{layer}"] + w[f"bias_{layer}"])
        total += value
    np.testing.assert_allclose(outputs[0], total, rtol=0, atol=1e-5)


def test_lora_adds_half_of_the_low_rank_update_to_every_linear_layer():
    outputs, inputs, w = _run(NETWORKS["lora"](layers=2, sequence=3, width=8, rank=2))
    x = inputs["x"]

    def adapted(value: np.ndarray, number: int) -> np.ndarray:
        return value @ w[f"W_{number}"] + 0.5 * value @ w[f"A_{number}"] @ w[f"B_{number}"]

    for layer in range(2):
        l1, l2, l3 = (adapted(x, 4 * layer + number) for number in (1, 2, 3))
        x = np.tanh(adapted(_sig(l1) * (l2 + np.tanh(l3)), 4 * layer + 4))
    np.testing.assert_allclose(outputs[0], x, rtol=0, atol=2e-6)


def test_linear_attention_multiplies_scaled_scores_with_values_head_by_head():
    outputs, inputs, w = _run(NETWORKS["linear_attention"](layers=1, sequence=5, width=6, heads=2))
    x = inputs["x"][0]
    query, key, value = _relu(x @ w["Wq_1"]), _relu(x @ w["Wk_1"]), x @ w["Wv_1"]
    cuts = (slice(0, 3), slice(3, 6))
    heads = [query[:, cut] @ key[:, cut].T / 5 @ value[:, cut] for cut in cuts]
    np.testing.assert_allclose(outputs[0][0], np.concatenate(heads, axis=1) @ w["Wo_1"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("residual", [True, False])
def test_bare_attention_really_uses_the_result_of_the_attention(residual):
    outputs, inputs, w = _run(NETWORKS["bert_taso"](layers=1, width=6, heads=2, sequence=5, residual=residual))
    x = inputs["x"]
    query, key, value = (x @ w[f"{name}_1"] for name in ("Wq", "Wk", "Wv"))
    heads = []
    for cut in (slice(0, 3), slice(3, 6)):
        raised = np.exp(query[:, cut] @ key[:, cut].T / np.sqrt(3))
        heads.append(raised / raised.sum(axis=1, keepdims=True) @ value[:, cut])
    mixed = np.concatenate(heads, axis=1) @ w["Wo_1"]
    np.testing.assert_allclose(outputs[0], x + mixed if residual else mixed, rtol=0, atol=1e-5)
