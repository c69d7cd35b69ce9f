"""Attention without a softmax, written in its quadratic order although a linear one exists.

4 layers on x of [1, sequence 1024, width 512], 8 heads of 64: Q = relu(x Wq), K = relu(x Wk), V = x Wv, cut into
heads; y = ((Q K^T) * (1/1024)) V; heads joined; x = y Wo. The output is the last x. All weights have standard deviation
1/sqrt(fan-in), except Wv, which has VALUE_GAIN/sqrt(fan-in).

normalized_attention: 2 layers on x of [1, 768, 256], 4 heads of 64: Q = relu(x Wq) + 0.1, K = relu(x Wk) + 0.1; scores
Q K^T divided by their sums over K; x = x + y Wo. Products of Q, K and V are Einsum of [1, sequence, head, width].
"""

import onnx

from .builder import GraphBuilder

# Every layer is cubic in the size of x: this gain holds the sizes of four layers near 1 for normal(0, 1) inputs.
VALUE_GAIN = 0.95


def linear_attention(layers: int = 4, sequence: int = 1024, width: int = 512, heads: int = 8) -> onnx.ModelProto:
    """Softmax-free attention with relu features; input and output [1, sequence, width]."""
    b = GraphBuilder("linear_attention")
    x = b.graph_input("x", (1, sequence, width))
    for _ in range(layers):
        x = _layer(b, x, sequence, width, heads)
    b.graph_output(x, (1, sequence, width))
    return b.build()


def normalized_attention(layers: int = 2, sequence: int = 768, width: int = 256, heads: int = 4) -> onnx.ModelProto:
    """Attention with positive scores that add up to one, by Einsum; input and output [1, sequence, width]."""
    b = GraphBuilder("normalized_attention")
    x = b.graph_input("x", (1, sequence, width))
    for _ in range(layers):
        x = b.node("Add", x, _normalized(b, x, (1, sequence, heads, width // heads), width))
    b.graph_output(x, (1, sequence, width))
    return b.build()


def _normalized(b: GraphBuilder, x: str, shape: tuple[int, int, int, int], width: int) -> str:
    std = width**-0.5
    query, key, value = (
        b.reshape(b.node("MatMul", x, b.normal((width, width), std, name)), shape) for name in ("Wq", "Wk", "Wv")
    )
    query, key = (b.node("Add", b.node("Relu", part), b.scalar(0.1)) for part in (query, key))
    scores = b.node("Einsum", query, key, equation="bnhd,bmhd->bhnm")
    shares = b.node("Div", scores, b.node("ReduceSum", scores, b.integers([-1]), keepdims=1))
    mixed = b.node("Einsum", shares, value, equation="bhnm,bmhd->bnhd")
    return b.node("MatMul", b.reshape(mixed, (1, shape[1], width)), b.normal((width, width), std, "Wo"))


def _layer(b: GraphBuilder, x: str, sequence: int, width: int, heads: int) -> str:
    std = width**-0.5
    features = [b.node("Relu", b.node("MatMul", x, b.normal((width, width), std, name))) for name in ("Wq", "Wk")]
    value = b.node("MatMul", x, b.normal((width, width), VALUE_GAIN * std, "Wv"))
    shape = (1, sequence, heads, width // heads)
    query, key, value = (b.reshape(part, shape) for part in (*features, value))
    scores = b.node(
        "MatMul",
        b.node("Transpose", query, perm=[0, 2, 1, 3]),
        b.node("Transpose", key, perm=[0, 2, 3, 1]),
    )
    scaled = b.node("Mul", scores, b.scalar(1 / sequence))
    mixed = b.node("MatMul", scaled, b.node("Transpose", value, perm=[0, 2, 1, 3]))
    joined = b.reshape(b.node("Transpose", mixed, perm=[0, 2, 1, 3]), (1, sequence, width))
    return b.node("MatMul", joined, b.normal((width, width), std, "Wo"))
