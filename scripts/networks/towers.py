"""Towers that share weights: several inputs, each through the same dense layers, the results summed.

towers: x_1..x_8, each [1, 1024]; three times x = relu(x W + b), 1024 wide, with the same W and b for every tower; the
output is the sum of the towers, added one by one, [1, 1024]. W has standard deviation sqrt(2/fan-in), because relu
follows; b has 0.1.
normalized_towers: x_1..x_6, each [1, 512]; three times x = gelu(layernorm(x W + b)), 512 wide, both in the pieces that
exporters write. W has standard deviation 1/sqrt(fan-in); scales are uniform in 0.7..1.3, b and shifts have 0.1.
"""

from collections.abc import Callable

import onnx

from .builder import GraphBuilder
from .transformer_parts import exported_gelu, exported_layer_norm

Layer = Callable[[str], str]


def towers(count: int = 8, width: int = 1024, layers: int = 3) -> onnx.ModelProto:
    """`count` towers of `layers` shared dense layers; inputs and output [1, width]."""
    b = GraphBuilder("towers")

    def layer() -> Layer:
        weight, bias = b.normal((width, width), (2 / width) ** 0.5), b.normal((width,), 0.1, "bias")
        return lambda value: b.node("Relu", b.node("Add", b.node("MatMul", value, weight), bias))

    return _summed(b, count, width, layers, layer)


def normalized_towers(count: int = 6, width: int = 512, layers: int = 3) -> onnx.ModelProto:
    """The same with a normalization and another activation behind each dense layer."""
    b = GraphBuilder("normalized_towers")

    def layer() -> Layer:
        weight, bias = b.normal((width, width), width**-0.5), b.normal((width,), 0.1, "bias")
        scale, shift = b.constant(b.draw_uniform((width,), 0.7, 1.3), "scale"), b.normal((width,), 0.1, "shift")

        def applied(value: str) -> str:
            dense = b.node("Add", b.node("MatMul", value, weight), bias)
            return exported_gelu(b, exported_layer_norm(b, dense, scale, shift))

        return applied

    return _summed(b, count, width, layers, layer)


def _summed(b: GraphBuilder, count: int, width: int, layers: int, layer: Callable[[], Layer]) -> onnx.ModelProto:
    inputs = [b.graph_input(f"x{tower + 1}", (1, width)) for tower in range(count)]
    shared = [layer() for _ in range(layers)]
    tops = []
    for value in inputs:
        for applied in shared:
            value = applied(value)
        tops.append(value)
    b.graph_output(b.total(tops), (1, width))
    return b.build()
