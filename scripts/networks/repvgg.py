"""A network in the style of RepVGG at training time: each block sums a 3x3 and a 1x1 convolution and the identity.

Input [1, 3, 224, 224]; blocks relu(conv3x3(x) + conv1x1(x) + x), without "+ x" where the shape changes: one block of
48/2, then stages of 2, 4, 14, 1 blocks with widths 48, 96, 192, 1280 (RepVGG-A0), stride 2 on the first of each stage;
global average pool, dense layer to 1000 logits. Batch norms are folded into the biases (0.1). The filters,
centred (see convolution.py), have deviation 1/sqrt(fan-in), beside an identity sqrt(0.5/fan-in).

`repvgg_normalized` is the same as it is trained and often exported: a batch norm behind each branch, the identity too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import onnx

from .builder import GraphBuilder
from .convolution import batch_norm, classifier, conv


def repvgg(**sizes: Any) -> onnx.ModelProto:
    """A RepVGG-style network; input [1, 3, image, image], output logits [1, classes]; for the sizes see `_network`."""
    return _network(GraphBuilder("repvgg"), _block, **sizes)


def repvgg_normalized(**sizes: Any) -> onnx.ModelProto:
    """The same with all its batch norms."""
    return _network(GraphBuilder("repvgg_normalized"), _normalized_block, **sizes)


def _network(
    b: GraphBuilder,
    block: Callable[[GraphBuilder, str, tuple[int, int], int], str],
    image: int = 224,
    stem: int = 48,
    widths: Sequence[int] = (48, 96, 192, 1280),
    blocks: Sequence[int] = (2, 4, 14, 1),
    classes: int = 1000,
) -> onnx.ModelProto:
    value = block(b, b.graph_input("image", (1, 3, image, image)), (3, stem), 2)
    channels = stem
    for width, count in zip(widths, blocks, strict=True):
        for position in range(count):
            value = block(b, value, (channels, width), 2 if position == 0 else 1)
            channels = width
    classifier(b, value, channels, classes)
    return b.build()


def _normalized_block(b: GraphBuilder, value: str, channels: tuple[int, int], stride: int) -> str:
    width, same = channels[1], stride == 1 and channels[0] == channels[1]
    branches = 3.0 if same else 2.0
    total = b.node(
        "Add",
        *(batch_norm(b, conv(b, value, channels, kernel, stride, bias_std=0), width, branches) for kernel in (3, 1)),
    )
    if same:  # the second moment of what comes out of a relu is half of what goes in
        total = b.node("Add", total, batch_norm(b, value, width, branches / 2))
    return b.node("Relu", total)


def _block(b: GraphBuilder, value: str, channels: tuple[int, int], stride: int) -> str:
    same = stride == 1 and channels[0] == channels[1]
    # The variances of the branches add up, so each has less than a lone convolution would.
    gain = 0.5**0.5 if same else 1.0
    total = b.node(
        "Add",
        conv(b, value, channels, 3, stride, gain=gain),
        conv(b, value, channels, 1, stride, gain=gain),
    )
    return b.node("Relu", b.node("Add", total, value) if same else total)
