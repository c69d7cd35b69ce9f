"""Towers that share weights: several inputs, each through the same dense layers, the results summed.

x_1..x_8, each [1, 1024]; three times x = relu(x W + b), 1024 wide, with the same W and b for every tower; the output is
the sum of the towers, added one by one, [1, 1024]. W has standard deviation sqrt(2/fan-in), because relu follows; b
has 0.1.
"""

import onnx

from .builder import GraphBuilder


def towers(count: int = 8, width: int = 1024, layers: int = 3) -> onnx.ModelProto:
    """`count` towers of `layers` shared dense layers; inputs and output [1, width]."""
    b = GraphBuilder("towers")
    inputs = [b.graph_input(f"x{tower + 1}", (1, width)) for tower in range(count)]
    shared = [(b.normal((width, width), (2 / width) ** 0.5), b.normal((width,), 0.1, "bias")) for _ in range(layers)]
    tops = []
    for value in inputs:
        for weight, bias in shared:
            value = b.node("Relu", b.node("Add", b.node("MatMul", value, weight), bias))
        tops.append(value)
    b.graph_output(b.total(tops), (1, width))
    return b.build()
