"""ResNet-50: bottleneck blocks with batch norms folded into the convolutions' biases, as exporters leave it.

Input [1, 3, 224, 224]; conv 7x7/2 to 64, max pool 3x3/2; stages of 3, 4, 6, 3 blocks with widths 64, 128, 256, 512:
relu(shortcut(x) + conv1x1(relu(conv3x3(relu(conv1x1(x)))))) to four times the width, the stride of a stage on its
first 3x3, shortcut a 1x1 convolution where the shape changes; global average pool, dense layer to 1000 logits.
Deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1; the last convolution of a block has
half the gain, so that 16 residual sums stay of moderate size.
"""

from collections.abc import Sequence

import onnx

from .builder import GraphBuilder
from .convolution import RELU_GAIN, classifier, conv, conv_relu, max_pool

BRANCH_GAIN = 0.5 * RELU_GAIN


def resnet50(
    image: int = 224, width: int = 64, blocks: Sequence[int] = (3, 4, 6, 3), classes: int = 1000
) -> onnx.ModelProto:
    """A bottleneck ResNet; input [1, 3, image, image], output logits [1, classes]."""
    b = GraphBuilder("resnet50")
    value = conv_relu(b, b.graph_input("image", (1, 3, image, image)), (3, width), 7, stride=2)
    value = max_pool(b, value, pad=1)
    channels = width
    for stage, count in enumerate(blocks):
        inner = width * 2**stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            value = _bottleneck(b, value, channels, inner, stride)
            channels = 4 * inner
    classifier(b, value, channels, classes)
    return b.build()


def _bottleneck(b: GraphBuilder, value: str, channels: int, inner: int, stride: int) -> str:
    branch = conv_relu(b, value, (channels, inner))
    branch = conv_relu(b, branch, (inner, inner), 3, stride)
    branch = conv(b, branch, (inner, 4 * inner), gain=BRANCH_GAIN)
    if stride != 1 or channels != 4 * inner:
        value = conv(b, value, (channels, 4 * inner), stride=stride, gain=1.0)
    return b.node("Relu", b.node("Add", branch, value))
