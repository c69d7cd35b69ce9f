"""Recurrent cells in loops over elements, as models in PyTorch have them.

Inputs are the initial states and x1..xT, each [1, hidden]; the output is the state after each element, [T, hidden].

gru_cells (T = 20, H = 96):  r, z, n' = x W + p,  r', z', n'' = h R + q, each one matmul that is split;
    n = tanh(n' + sig(r + r') * n'');  h = n + sig(z + z') * (h - n).
    That is what an exported GRUCell is.
lstm_cells (T = 12, H = 256): ONNX's LSTM over a sequence of one element, as of a decoder that calls it for each one.
Weights are normal with standard deviation 1/sqrt(fan-in), those of the state twice that; biases have 0.1.
"""

import onnx

from .builder import GraphBuilder

STATE_GAIN = 2.0
BIAS_STD = 0.1


def gru_cells(steps: int = 20, hidden: int = 96) -> onnx.ModelProto:
    """GRU cells in PyTorch's order of gates; output [steps, hidden]."""
    b = GraphBuilder("gru_cells")
    h = b.graph_input("h0", (1, hidden))
    weights = [
        b.normal((hidden, 3 * hidden), gain * hidden**-0.5, name) for name, gain in (("W", 1), ("R", STATE_GAIN))
    ]
    biases = [b.normal((3 * hidden,), BIAS_STD, name) for name in "pq"]
    states = []
    for step in range(steps):
        x = b.graph_input(f"x{step + 1}", (1, hidden))
        (r, z, n), (r_h, z_h, n_h) = (
            _thirds(b, b.node("Add", b.node("MatMul", value, weight), bias), hidden)
            for value, weight, bias in zip((x, h), weights, biases, strict=True)
        )
        reset, update = (b.node("Sigmoid", b.node("Add", *pair)) for pair in ((r, r_h), (z, z_h)))
        new = b.node("Tanh", b.node("Add", n, b.node("Mul", reset, n_h)))
        h = b.node("Add", new, b.node("Mul", update, b.node("Sub", h, new)))
        states.append(h)
    return _finish(b, states, hidden)


def lstm_cells(steps: int = 12, hidden: int = 256) -> onnx.ModelProto:
    """LSTM operators over one element each; output [steps, hidden]."""
    b = GraphBuilder("lstm_cells")
    state = [b.reshape(b.graph_input(name, (1, hidden)), (1, 1, hidden)) for name in ("h0", "c0")]
    w, r = (
        b.normal((1, 4 * hidden, hidden), gain * hidden**-0.5, name) for name, gain in (("W", 1), ("R", STATE_GAIN))
    )
    bias = b.normal((1, 8 * hidden), BIAS_STD, "bias")
    states = []
    for step in range(steps):
        x = b.reshape(b.graph_input(f"x{step + 1}", (1, hidden)), (1, 1, hidden))
        _, *state = b.split_node("LSTM", (x, w, r, bias, "", *state), 3, hidden_size=hidden)
        states.append(b.reshape(state[0], (1, hidden)))
    return _finish(b, states, hidden)


def _thirds(b: GraphBuilder, value: str, hidden: int) -> list[str]:
    return b.split_node("Split", (value, b.integers((hidden,) * 3)), 3, axis=1)


def _finish(b: GraphBuilder, states: list[str], hidden: int) -> onnx.ModelProto:
    b.graph_output(b.node("Concat", *states, axis=0), (len(states), hidden))
    return b.build()
