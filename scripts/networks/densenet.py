"""DenseNet-121 with its batch norms unfolded: every layer sees the concatenation of all layers before it.

Input [1, 3, 224, 224]; conv 7x7/2 to 64, bn, relu, max pool 3x3/2; dense blocks of 6, 12, 24, 16 layers, each
conv3x3(relu(bn(conv1x1(relu(bn(concat)))))) to 128 and 32 channels; between them bn, relu, conv 1x1 to half the
channels, average pool 2x2/2; bn, relu, global average pool, dense layer to 1000 logits. Convolutions have no bias,
deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py). Batch-norm scales are uniform in 0.7..1.3,
shifts and means normal(0, 0.1), variances uniform in 0.7..1.3 times the second moment that the input has by
construction.
"""

from collections.abc import Sequence

import onnx

from .builder import GraphBuilder
from .convolution import RELU_GAIN, average_pool, batch_norm, classifier, conv, max_pool


def densenet121(
    image: int = 224, growth: int = 32, blocks: Sequence[int] = (6, 12, 24, 16), classes: int = 1000
) -> onnx.ModelProto:
    """A DenseNet; input [1, 3, image, image], output logits [1, classes]."""
    b = GraphBuilder("densenet121")
    channels = 2 * growth
    value = conv(b, b.graph_input("image", (1, 3, image, image)), (3, channels), 7, stride=2, bias_std=0.0)
    value = max_pool(b, _bn_relu(b, value, channels, RELU_GAIN**2), pad=1)
    for block, count in enumerate(blocks):
        value, channels = _dense_block(b, value, channels, growth, count)
        value = _bn_relu(b, value, channels)
        if block < len(blocks) - 1:
            value = conv(b, value, (channels, channels // 2), bias_std=0.0)
            value, channels = average_pool(b, value, kernel=2, stride=2), channels // 2
    classifier(b, value, channels, classes)
    return b.build()


def _dense_block(b: GraphBuilder, value: str, channels: int, growth: int, count: int) -> tuple[str, int]:
    """The concatenation of the block's input and all its layers, and its number of channels."""
    features = [value]
    for _ in range(count):
        seen = b.node("Concat", *features, axis=1) if len(features) > 1 else value
        narrow = conv(b, _bn_relu(b, seen, channels), (channels, 4 * growth), bias_std=0.0)
        features.append(conv(b, _bn_relu(b, narrow, 4 * growth), (4 * growth, growth), 3, bias_std=0.0))
        channels += growth
    return b.node("Concat", *features, axis=1), channels


def _bn_relu(b: GraphBuilder, value: str, channels: int, second_moment: float = 1.0) -> str:
    return b.node("Relu", batch_norm(b, value, channels, second_moment))
