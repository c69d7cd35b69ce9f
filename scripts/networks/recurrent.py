"""Recurrent networks unrolled over time: NasRNN, LSTM, subLSTM, MI-LSTM, SC-RNN and exponential smoothing.

Inputs are the initial state (h0; c0 of a cell; s0 and h0 of SC-RNN) and x1..xT, each [1, hidden]; weights are
constants, normal with standard deviation 1/sqrt(fan-in), and shared by all steps unless said. The weights of the
state h in its own recurrence (U, but R in SC-RNN) are larger by STATE_GAIN, because h is that much smaller than x:
otherwise the first of ten steps would not change the output by more than rounding. "sig" is Sigmoid.

NasRNN (T = 10, H = 512), for i = 0..7:  z_i = x W_i + h U_i;
    m0 = relu(z0) + sig(z3)     m1 = sig(z1) + tanh(z2)     m2 = sig(z4) * tanh(z5)     m3 = sig(z6) * relu(z7)
    m4 = sig(m1) + tanh(m2)     m5 = tanh(m0) * tanh(m3)    h = tanh(tanh(m4) * tanh(m5))
nasrnn_fresh (T = 5, H = 512) is the same with new weights at every step.
LSTM (T = 10, H = 512):  i, f, g, o = x W + h U + b, each from its own two matmuls (b has std 0.1);
    c = sig(f) * c + sig(i) * tanh(g);  h = sig(o) * tanh(c).
subLSTM (T = 10, H = 512):  i, f, o, z = sig(x W + h U + b);  c = f * c + z - i;  h = sig(c) - o.
MI-LSTM (T = 10, H = 512): the LSTM with pre-activations a * (x W) * (h U) + b1 * (h U) + b2 * (x W) + b, where a, b1,
    b2, b are vectors with means 1, 0.5, 0.5, 0 and standard deviation 0.1.
The output of all these is the last h, [1, hidden].
SC-RNN (T = 10, H = 512, C = 256):  s = 0.05 (x B) + 0.95 s;  h = sig(s P + x A + h R);  y_t = h U + s V;
    every y_t, [1, hidden], is an output.
smoothing (T = 32, 256 series), Holt's linear method: input [1, T, series]; the level l is x_1 first and the trend b is
    0; l = 0.3 x_t + 0.7 (l + b), b = 0.1 (l - l before) + 0.9 b; output l + b after each step, [1, T - 1, series].
"""

import onnx

from .builder import GraphBuilder

STATE_GAIN = {"nasrnn": 8.0, "nasrnn_fresh": 8.0, "lstm": 2.0, "sublstm": 2.0, "mi_lstm": 2.0, "sc_rnn": 4.0}


def nasrnn(steps: int = 10, hidden: int = 512) -> onnx.ModelProto:
    """NasRNN whose weights are shared over time; output [1, hidden]."""
    b = GraphBuilder("nasrnn")
    h = b.graph_input("h0", (1, hidden))
    weights = _weight_pairs(b, hidden, 8)
    for x in _steps(b, steps, hidden):
        h = _nas_cell(b, x, h, weights)
    return _finish(b, h, hidden)


def nasrnn_fresh(steps: int = 5, hidden: int = 512) -> onnx.ModelProto:
    """NasRNN with fresh weights at every step; output [1, hidden]."""
    b = GraphBuilder("nasrnn_fresh")
    h = b.graph_input("h0", (1, hidden))
    for x in _steps(b, steps, hidden):
        h = _nas_cell(b, x, h, _weight_pairs(b, hidden, 8))
    return _finish(b, h, hidden)


def lstm(steps: int = 10, hidden: int = 512) -> onnx.ModelProto:
    """LSTM with four gates from separate matmuls and biases; output [1, hidden]."""
    b = GraphBuilder("lstm")
    h, c = b.graph_input("h0", (1, hidden)), b.graph_input("c0", (1, hidden))
    weights = _weight_pairs(b, hidden, 4)
    biases = [b.normal((hidden,), 0.1, "bias") for _ in weights]
    for x in _steps(b, steps, hidden):
        gates = [b.node("Add", _affine(b, x, h, pair), bias) for pair, bias in zip(weights, biases, strict=True)]
        h, c = _lstm_state(b, gates, c)
    return _finish(b, h, hidden)


def sublstm(steps: int = 10, hidden: int = 512) -> onnx.ModelProto:
    """subLSTM, whose gates subtract instead of multiply; output [1, hidden]."""
    b = GraphBuilder("sublstm")
    h, c = b.graph_input("h0", (1, hidden)), b.graph_input("c0", (1, hidden))
    weights = _weight_pairs(b, hidden, 4)
    biases = [b.normal((hidden,), 0.1, "bias") for _ in weights]
    for x in _steps(b, steps, hidden):
        i, f, o, z = (
            b.node("Sigmoid", b.node("Add", _affine(b, x, h, pair), bias))
            for pair, bias in zip(weights, biases, strict=True)
        )
        c = b.node("Sub", b.node("Add", b.node("Mul", f, c), z), i)
        h = b.node("Sub", b.node("Sigmoid", c), o)
    return _finish(b, h, hidden)


def mi_lstm(steps: int = 10, hidden: int = 512) -> onnx.ModelProto:
    """LSTM with multiplicative integration of input and state; output [1, hidden]."""
    b = GraphBuilder("mi_lstm")
    h, c = b.graph_input("h0", (1, hidden)), b.graph_input("c0", (1, hidden))
    weights = _weight_pairs(b, hidden, 4)
    means = {"a": 1.0, "b1": 0.5, "b2": 0.5, "bias": 0.0}
    vectors = [tuple(b.normal((hidden,), 0.1, name, mean) for name, mean in means.items()) for _ in weights]
    for x in _steps(b, steps, hidden):
        gates = [_mi_gate(b, x, h, pair, own) for pair, own in zip(weights, vectors, strict=True)]
        h, c = _lstm_state(b, gates, c)
    return _finish(b, h, hidden)


def sc_rnn(steps: int = 10, hidden: int = 512, context: int = 256) -> onnx.ModelProto:
    """Structurally constrained RNN with a slow linear context; outputs y_1..y_T, each [1, hidden]."""
    b = GraphBuilder("sc_rnn")
    s, h = b.graph_input("s0", (1, context)), b.graph_input("h0", (1, hidden))
    B = b.normal((hidden, context), hidden**-0.5, "B")
    A, U = (b.normal((hidden, hidden), hidden**-0.5, name) for name in "AU")
    R = b.normal((hidden, hidden), STATE_GAIN[b.name] * hidden**-0.5, "R")
    P, V = (b.normal((context, hidden), context**-0.5, name) for name in "PV")
    for x in _steps(b, steps, hidden):
        fresh = b.node("Mul", b.node("MatMul", x, B), b.scalar(0.05))
        s = b.node("Add", fresh, b.node("Mul", s, b.scalar(0.95)))
        h = b.node("Sigmoid", b.total([b.node("MatMul", s, P), b.node("MatMul", x, A), b.node("MatMul", h, R)]))
        y = b.node("Add", b.node("MatMul", h, U), b.node("MatMul", s, V))
        b.graph_output(y, (1, hidden))
    return b.build()


def smoothing(steps: int = 32, series: int = 256) -> onnx.ModelProto:
    """Forecasts of one step by exponential smoothing with a trend; output [1, steps - 1, series]."""
    b = GraphBuilder("smoothing")
    x = b.graph_input("x", (1, steps, series))
    observed = [b.node("Gather", x, b.index(step), axis=1) for step in range(steps)]
    level, trend, forecasts = observed[0], b.node("Mul", observed[0], b.scalar(0.0)), []
    for value in observed[1:]:
        before, expected = level, b.node("Add", level, trend)
        level = b.node("Add", b.node("Mul", value, b.scalar(0.3)), b.node("Mul", expected, b.scalar(0.7)))
        moved = b.node("Mul", b.node("Sub", level, before), b.scalar(0.1))
        trend = b.node("Add", moved, b.node("Mul", trend, b.scalar(0.9)))
        forecasts.append(b.node("Unsqueeze", b.node("Add", level, trend), b.integers([1])))
    b.graph_output(b.node("Concat", *forecasts, axis=1), (1, steps - 1, series))
    return b.build()


def _steps(b: GraphBuilder, steps: int, hidden: int) -> list[str]:
    return [b.graph_input(f"x{step + 1}", (1, hidden)) for step in range(steps)]


def _weight_pairs(b: GraphBuilder, hidden: int, count: int) -> list[tuple[str, str]]:
    """Weights W of the input and U of the state for each gate."""
    shape, std = (hidden, hidden), hidden**-0.5
    return [(b.normal(shape, std, "W"), b.normal(shape, STATE_GAIN[b.name] * std, "U")) for _ in range(count)]


def _affine(b: GraphBuilder, x: str, h: str, weights: tuple[str, str]) -> str:
    return b.node("Add", b.node("MatMul", x, weights[0]), b.node("MatMul", h, weights[1]))


def _nas_cell(b: GraphBuilder, x: str, h: str, weights: list[tuple[str, str]]) -> str:
    z = [_affine(b, x, h, pair) for pair in weights]
    m0 = b.node("Add", b.node("Relu", z[0]), b.node("Sigmoid", z[3]))
    m1 = b.node("Add", b.node("Sigmoid", z[1]), b.node("Tanh", z[2]))
    m2 = b.node("Mul", b.node("Sigmoid", z[4]), b.node("Tanh", z[5]))
    m3 = b.node("Mul", b.node("Sigmoid", z[6]), b.node("Relu", z[7]))
    m4 = b.node("Add", b.node("Sigmoid", m1), b.node("Tanh", m2))
    m5 = b.node("Mul", b.node("Tanh", m0), b.node("Tanh", m3))
    return b.node("Tanh", b.node("Mul", b.node("Tanh", m4), b.node("Tanh", m5)))


def _mi_gate(b: GraphBuilder, x: str, h: str, weights: tuple[str, str], vectors: tuple[str, ...]) -> str:
    a, b1, b2, bias = vectors
    xw, hu = b.node("MatMul", x, weights[0]), b.node("MatMul", h, weights[1])
    both = b.node("Mul", b.node("Mul", a, xw), hu)
    return b.total([both, b.node("Mul", b1, hu), b.node("Mul", b2, xw), bias])


def _lstm_state(b: GraphBuilder, gates: list[str], c: str) -> tuple[str, str]:
    """The next (h, c) from the pre-activations of the gates i, f, g, o."""
    i, f, g, o = gates
    kept = b.node("Mul", b.node("Sigmoid", f), c)
    c = b.node("Add", kept, b.node("Mul", b.node("Sigmoid", i), b.node("Tanh", g)))
    return b.node("Mul", b.node("Sigmoid", o), b.node("Tanh", c)), c


def _finish(b: GraphBuilder, h: str, hidden: int) -> onnx.ModelProto:
    b.graph_output(h, (1, hidden))
    return b.build()
