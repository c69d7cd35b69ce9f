"""Heads of a detector and of a segmentation network.

Of the first only some channels are used, as after a model was cut down to the boxes alone; the second brings feature
maps of four sizes to one.

sliced_channels: input [1, 3, 128, 128]; conv 3x3/2 to 32, 3x3/2 to 64, 3x3 to 64, each with relu; head: conv 3x3 to
    256, relu, conv 1x1 to 256, sigmoid, of which Slice takes the channels 64 to 96: [1, 32, 32, 32].
segmentation_head, as a SegFormer-B0 has it: maps [1, c, s, s] with c = 32, 64, 160, 256 and s = 64, 32, 16, 8, each by
    a conv 1x1 to 256 and by linear interpolation to s = 64; all joined; conv 1x1 to 256, relu, conv 1x1 to 19 classes.
Deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1.
"""

import numpy as np
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


def segmentation_head(
    image: int = 64, width: int = 256, classes: int = 19, channels: tuple[int, ...] = (32, 64, 160, 256)
) -> onnx.ModelProto:
    """A head of pointwise convolutions over four feature maps, each half as large as the one before."""
    b = GraphBuilder("segmentation_head")
    maps = []
    for level, own in enumerate(channels):
        size = image // 2**level
        value = conv(b, b.graph_input(f"map{level + 1}", (1, own, size, size)), (own, width))
        if level:
            scales = b.constant(np.array([1, 1, 2**level, 2**level], np.float32), "scales")
            value = b.node("Resize", value, "", scales, mode="linear")
        maps.append(value)
    joined = b.node("Concat", *reversed(maps), axis=1)
    mixed = conv_relu(b, joined, (len(maps) * width, width))
    b.graph_output(conv(b, mixed, (width, classes)), (1, classes, image, image))
    return b.build()
