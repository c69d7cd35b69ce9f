"""The convolutions of VGG-19, without its dense layers.

Input [1, 3, 224, 224]; 3x3 convolutions with relu: 2 of 64, 2 of 128, 4 of 256, 4 of 512, 4 of 512, a max pool 2x2/2
after each group; output [1, 512, 7, 7]. Deviation RELU_GAIN/sqrt(fan-in), filters centred (see
convolution.py), biases 0.1.
"""

from collections.abc import Sequence

import onnx

from .builder import GraphBuilder
from .convolution import conv_relu, max_pool


def vgg19_convs(image: int = 224, width: int = 64, groups: Sequence[int] = (2, 2, 4, 4, 4)) -> onnx.ModelProto:
    """VGG-19's convolutions; input [1, 3, image, image], output the last pool (8 * width channels for 5 groups)."""
    b = GraphBuilder("vgg19_convs")
    value = b.graph_input("image", (1, 3, image, image))
    channels = 3
    for group, count in enumerate(groups):
        out = width * 2 ** min(group, 3)
        for _ in range(count):
            value, channels = conv_relu(b, value, (channels, out), 3), out
        value = max_pool(b, value, kernel=2)
    side = image // 2 ** len(groups)
    b.graph_output(value, (1, channels, side, side))
    return b.build()
