"""A network with low-rank adapters (LoRA) beside every linear layer.

8 layers on x of [sequence 64, width 768]; every linear is l(x) = x W + 0.5 (x A) B with A of [width, rank 16] and B
of [rank, width]; t = sig(l1(x)) * (l2(x) + tanh(l3(x))), x = tanh(l4(t)). W and A have standard deviation
1/sqrt(width), B has 1/sqrt(rank); the output is the last x.
"""

import onnx

from .builder import GraphBuilder


def lora(layers: int = 8, sequence: int = 64, width: int = 768, rank: int = 16) -> onnx.ModelProto:
    """Gated layers with low-rank adapters; input and output [sequence, width]."""
    b = GraphBuilder("lora")
    x = b.graph_input("x", (sequence, width))
    for _ in range(layers):
        gate = b.node("Sigmoid", _adapted(b, x, width, rank))
        inner = b.node("Add", _adapted(b, x, width, rank), b.node("Tanh", _adapted(b, x, width, rank)))
        x = b.node("Tanh", _adapted(b, b.node("Mul", gate, inner), width, rank))
    b.graph_output(x, (sequence, width))
    return b.build()


def _adapted(b: GraphBuilder, x: str, width: int, rank: int) -> str:
    """A linear layer with its adapter: x W + 0.5 (x A) B."""
    base = b.node("MatMul", x, b.normal((width, width), width**-0.5, "W"))
    low = b.node("MatMul", x, b.normal((width, rank), width**-0.5, "A"))
    update = b.node("MatMul", low, b.normal((rank, width), rank**-0.5, "B"))
    return b.node("Add", base, b.node("Mul", update, b.scalar(0.5)))
