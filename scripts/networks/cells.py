"""Recurrent cells in loops over elements, as models in PyTorch have them.

Inputs are the initial states and x1..xT, each [1, hidden]; the output is the state after each element, [T, hidden].

gru_cells (T = 20, H = 96):  r, z, n' = x W + p,  r', z', n'' = h R + q, each one matmul that is split;
    n = tanh(n' + sig(r + r') * n'');  h = n + sig(z + z') * (h - n).
    That is what an exported GRUCell is.
lstm_cells (T = 12, H = 256): ONNX's LSTM over a sequence of one element, as of a decoder that calls it for each one.
lstm_slices (T = 16, H = 96):  i, f, g, o = x W + p + h R + q, one sum that slices cut;
    c = sig(f) * c + sig(i) * tanh(g);  h = sig(o) * tanh(c).
    That is what PyTorch's tracing exporter makes of a cell with `chunk`.
rnn_cells (T = 50, H = 64):  h = tanh(x W + h R + p), Elman's network.
lstm_scan (T = 20, H = 256):  i, f, g, o = x W + h R + p, each from its own two matmuls, in the body of a Scan over
    the sequence [T, 1, hidden], as scripted models keep their loops.
Weights are normal with standard deviation 1/sqrt(fan-in), those of the state twice that; biases have 0.1.
"""

import onnx

from .builder import GraphBuilder

STATE_GAIN = 2.0
GAINS = ("W", 1.0), ("R", STATE_GAIN)
BIAS_STD = 0.1


def gru_cells(steps: int = 20, hidden: int = 96) -> onnx.ModelProto:
    """GRU cells in PyTorch's order of gates; output [steps, hidden]."""
    b = GraphBuilder("gru_cells")
    h = b.graph_input("h0", (1, hidden))
    weights = [_weights(b, name, hidden, 3, gain) for name, gain in GAINS]
    biases = [_bias(b, hidden, 3) for _ in range(2)]
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


def lstm_slices(steps: int = 16, hidden: int = 96) -> onnx.ModelProto:
    """LSTM cells in PyTorch's order of gates, which slices cut; output [steps, hidden]."""
    b = GraphBuilder("lstm_slices")
    h, c = (b.graph_input(name, (1, hidden)) for name in ("h0", "c0"))
    w, r = (_weights(b, name, hidden, 4, gain) for name, gain in GAINS)
    p, q = (_bias(b, hidden, 4) for _ in range(2))
    states = []
    for step in range(steps):
        x = b.graph_input(f"x{step + 1}", (1, hidden))
        products = (b.node("Add", b.node("MatMul", *pair), bias) for *pair, bias in ((x, w, p), (h, r, q)))
        joined = b.node("Add", *products)
        i, f, g, o = (
            b.node("Slice", joined, b.integers((at * hidden,)), b.integers(((at + 1) * hidden,)), b.integers((1,)))
            for at in range(4)
        )
        kept = b.node("Mul", b.node("Sigmoid", f), c)
        c = b.node("Add", kept, b.node("Mul", b.node("Sigmoid", i), b.node("Tanh", g)))
        h = b.node("Mul", b.node("Sigmoid", o), b.node("Tanh", c))
        states.append(h)
    return _finish(b, states, hidden)


def rnn_cells(steps: int = 50, hidden: int = 64) -> onnx.ModelProto:
    """Cells of Elman's network; output [steps, hidden]."""
    b = GraphBuilder("rnn_cells")
    h = b.graph_input("h0", (1, hidden))
    w, r = (_weights(b, name, hidden, 1, gain) for name, gain in GAINS)
    bias = _bias(b, hidden, 1)
    states = []
    for step in range(steps):
        x = b.graph_input(f"x{step + 1}", (1, hidden))
        products = b.node("Add", b.node("MatMul", x, w), b.node("MatMul", h, r))
        h = b.node("Tanh", b.node("Add", products, bias))
        states.append(h)
    return _finish(b, states, hidden)


def lstm_scan(steps: int = 20, hidden: int = 256) -> onnx.ModelProto:
    """An LSTM cell in a loop that stays one; output [steps, 1, hidden]."""
    b, cell = GraphBuilder("lstm_scan"), GraphBuilder("cell")
    h, c, x = (cell.graph_input(name, (1, hidden)) for name in ("h", "c", "x"))
    gates = []
    for _ in range(4):
        w, r = (_weights(b, name, hidden, 1, gain) for name, gain in GAINS)
        products = cell.node("Add", cell.node("MatMul", x, w), cell.node("MatMul", h, r))
        gates.append(cell.node("Add", products, _bias(b, hidden, 1)))
    i, f, o = (cell.node("Sigmoid", gates[gate]) for gate in (0, 1, 3))
    c = cell.node("Add", cell.node("Mul", f, c), cell.node("Mul", i, cell.node("Tanh", gates[2])))
    h = cell.node("Mul", o, cell.node("Tanh", c))
    for value in (h, c, cell.node("Identity", h)):
        cell.graph_output(value, (1, hidden))
    states = [b.graph_input(name, (1, hidden)) for name in ("h0", "c0")]
    sequence = b.graph_input("sequence", (steps, 1, hidden))
    *_, every = b.split_node("Scan", (*states, sequence), 3, num_scan_inputs=1, body=cell.build().graph)
    b.graph_output(every, (steps, 1, hidden))
    return b.build()


def _weights(b: GraphBuilder, name: str, hidden: int, gates: int, gain: float) -> str:
    return b.normal((hidden, gates * hidden), gain * hidden**-0.5, name)


def _bias(b: GraphBuilder, hidden: int, gates: int) -> str:
    return b.normal((gates * hidden,), BIAS_STD, "bias")


def _thirds(b: GraphBuilder, value: str, hidden: int) -> list[str]:
    return b.split_node("Split", (value, b.integers((hidden,) * 3)), 3, axis=1)


def _finish(b: GraphBuilder, states: list[str], hidden: int) -> onnx.ModelProto:
    b.graph_output(b.node("Concat", *states, axis=0), (len(states), hidden))
    return b.build()
