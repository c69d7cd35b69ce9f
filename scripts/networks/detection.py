"""A detection head of which only some channels are used, as after a model was cut down to the boxes alone.

sliced_channels: input [1, 3, 128, 128]; conv 3x3/2 to 32, 3x3/2 to 64, 3x3 to 64, each with relu; head: conv 3x3 to
    256, relu, conv 1x1 to 256, sigmoid, of which Slice takes the channels 64 to 96: [1, 32, 32, 32].
Deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1.
"""

import onnx

from .builder import GraphBuilder
from .convolution import conv, conv_relu


def sliced_channels(image: int = 128, width: int = 32) -> onnx.ModelProto:
    """A small backbone and a head that computes eight times as many channels as are used."""
    b = GraphBuilder("sliced_channels")
    value = conv_relu(b, b.graph_input("image", (1, 3, image, image)), (3, width), 3, stride=2)
    value = conv_relu(b, value, (width, 2 * width), 3, stride=2)
    value = conv_relu(b, value, (2 * width, 2 * width), 3)
    head = conv_relu(b, value, (2 * width, 8 * width), 3)
    head = b.node("Sigmoid", conv(b, head, (8 * width, 8 * width)))
    kept = b.node("Slice", head, b.integers((2 * width,)), b.integers((3 * width,)), b.integers((1,)))
    b.graph_output(kept, (1, width, image // 4, image // 4))
    return b.build()
