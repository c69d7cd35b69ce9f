"""Inception-v3 with batch norms folded into the convolutions' biases, as exporters leave it, without the side head.

Input [1, 3, 299, 299]; every convolution is followed by a relu and padded by k // 2, unless it halves the map (stride
2, unpadded) or is said to be unpadded. Stem: 3x3 to 32 halving, 3x3 to 32 unpadded, 3x3 to 64, max pool 3x3/2, 1x1 to
80, 3x3 to 192 unpadded, max pool 3x3/2. Then three blocks A (pool features 32, 64, 64), one B, four C (inner width
128, 160, 160, 192), one D and two E, whose branches (the tables below) are concatenated; their average pools are 3x3,
padded by 1, and count the padding. Global average pool, dense layer to 1000 logits. Deviation
RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1.
"""

from collections.abc import Sequence

import onnx

from .builder import GraphBuilder
from .convolution import average_pool, classifier, conv_relu, max_pool

Step = tuple[int, int | tuple[int, int], int]  # out channels, kernel, stride; stride 2 is unpadded
Chain = Sequence[Step]
Map = tuple[str, int]  # a feature map's name and its channels

WIDE, TALL = (1, 7), (7, 1)


def inception_v3(image: int = 299, divide: int = 1, classes: int = 1000) -> onnx.ModelProto:
    """Inception-v3 with all widths divided; input [1, 3, image, image], output logits [1, classes]."""
    b = GraphBuilder("inception_v3")
    value = _stem(b, (b.graph_input("image", (1, 3, image, image)), 3), divide)
    for features in (32, 64, 64):
        value = _block_a(b, value, features, divide)
    value = _reduction(b, value, (((384, 3, 2),), ((64, 1, 1), (96, 3, 1), (96, 3, 2))), divide)
    for inner in (128, 160, 160, 192):
        value = _block_c(b, value, inner, divide)
    long = ((192, 1, 1), (192, WIDE, 1), (192, TALL, 1), (192, 3, 2))
    value = _reduction(b, value, (((192, 1, 1), (320, 3, 2)), long), divide)
    for _ in range(2):
        value = _block_e(b, value, divide)
    classifier(b, *value, classes)
    return b.build()


def _stem(b: GraphBuilder, image: Map, divide: int) -> Map:
    value = _chain(b, image, ((32, 3, 2),), divide)
    value = _unpadded(b, value, 32 // divide)
    value = _pooled(b, _chain(b, value, ((64, 3, 1),), divide))
    value = _chain(b, value, ((80, 1, 1),), divide)
    return _pooled(b, _unpadded(b, value, 192 // divide))


def _block_a(b: GraphBuilder, value: Map, features: int, divide: int) -> Map:
    chains: tuple[Chain, ...] = (
        ((64, 1, 1),),
        ((48, 1, 1), (64, 5, 1)),
        ((64, 1, 1), (96, 3, 1), (96, 3, 1)),
    )
    return _joined(b, [*(_chain(b, value, chain, divide) for chain in chains), _averaged(b, value, features, divide)])


def _block_c(b: GraphBuilder, value: Map, inner: int, divide: int) -> Map:
    chains: tuple[Chain, ...] = (
        ((192, 1, 1),),
        ((inner, 1, 1), (inner, WIDE, 1), (192, TALL, 1)),
        ((inner, 1, 1), (inner, TALL, 1), (inner, WIDE, 1), (inner, TALL, 1), (192, WIDE, 1)),
    )
    return _joined(b, [*(_chain(b, value, chain, divide) for chain in chains), _averaged(b, value, 192, divide)])


def _block_e(b: GraphBuilder, value: Map, divide: int) -> Map:
    """Two of the branches fork at their end into a 1x3 and a 3x1 convolution."""
    forks: tuple[Chain, ...] = (((384, 1, 1),), ((448, 1, 1), (384, 3, 1)))
    parts = [_chain(b, value, ((320, 1, 1),), divide)]
    for fork in forks:
        stem = _chain(b, value, fork, divide)
        parts += [_chain(b, stem, ((384, kernel, 1),), divide) for kernel in ((1, 3), (3, 1))]
    return _joined(b, [*parts, _averaged(b, value, 192, divide)])


def _reduction(b: GraphBuilder, value: Map, chains: Sequence[Chain], divide: int) -> Map:
    return _joined(b, [*(_chain(b, value, chain, divide) for chain in chains), _pooled(b, value)])


def _chain(b: GraphBuilder, value: Map, steps: Chain, divide: int) -> Map:
    for out, kernel, stride in steps:
        pads = (0, 0) if stride == 2 else None
        name = conv_relu(b, value[0], (value[1], out // divide), kernel, stride, pads=pads)
        value = (name, out // divide)
    return value


def _unpadded(b: GraphBuilder, value: Map, out: int) -> Map:
    return conv_relu(b, value[0], (value[1], out), 3, pads=(0, 0)), out


def _averaged(b: GraphBuilder, value: Map, features: int, divide: int) -> Map:
    return _chain(b, (average_pool(b, value[0], pad=1), value[1]), ((features, 1, 1),), divide)


def _pooled(b: GraphBuilder, value: Map) -> Map:
    return max_pool(b, value[0]), value[1]


def _joined(b: GraphBuilder, parts: Sequence[Map]) -> Map:
    return b.node("Concat", *(name for name, _ in parts), axis=1), sum(channels for _, channels in parts)
