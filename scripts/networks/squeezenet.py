"""SqueezeNet 1.1: fire modules that squeeze by a 1x1 convolution and expand by a 1x1 and a 3x3 side by side.

Input [1, 3, 224, 224]; conv 3x3/2 to 64; fire modules squeeze/expand 16/64 x2, 32/128 x2, 48/192 x2, 64/256 x2, a max
pool 3x3/2 before the first, third and fifth; conv 1x1 to 1000, relu, global average pool: [1, 1000, 1, 1], no softmax.
Deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1.
"""

import onnx

from .builder import GraphBuilder
from .convolution import conv_relu, max_pool

SQUEEZE = (16, 16, 32, 32, 48, 48, 64, 64)
POOL_BEFORE = (0, 2, 4)


def squeezenet(image: int = 224, divide: int = 1, classes: int = 1000) -> onnx.ModelProto:
    """SqueezeNet 1.1 with all widths divided; input [1, 3, image, image], output [1, classes, 1, 1]."""
    b = GraphBuilder("squeezenet")
    channels = 64 // divide
    value = conv_relu(b, b.graph_input("image", (1, 3, image, image)), (3, channels), 3, stride=2, pads=(0, 0))
    for position, squeeze in enumerate(SQUEEZE):
        if position in POOL_BEFORE:
            value = max_pool(b, value, ceil=True)
        value = _fire(b, value, channels, squeeze // divide)
        channels = 8 * (squeeze // divide)
    value = conv_relu(b, value, (channels, classes))
    b.graph_output(b.node("GlobalAveragePool", value), (1, classes, 1, 1))
    return b.build()


def _fire(b: GraphBuilder, value: str, channels: int, squeeze: int) -> str:
    narrow = conv_relu(b, value, (channels, squeeze))
    small = conv_relu(b, narrow, (squeeze, 4 * squeeze))
    large = conv_relu(b, narrow, (squeeze, 4 * squeeze), 3)
    return b.node("Concat", small, large, axis=1)
