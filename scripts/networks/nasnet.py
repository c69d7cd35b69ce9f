"""NasNet-A cells on feature maps, as in the TASO paper (Figure 2.8a of its chapter) and its artifact.

Input [1, 88, 56, 56]; 3 stages of 2 normal cells with 88, 176, 352 channels, a reduction cell that halves the map
between stages; relu, global average pool, dense layer to 1000 logits. In a stage, prev and cur are
the stage's input, then each cell sees the two results before it. In every cell prev and cur pass relu and conv 1x1 to C
channels; sepK is relu, depth-wise KxK, conv 1x1; avg and max are 3x3 pools padded by 1 (avg counts the padding).
normal:     concat(sep3(cur) + cur, sep3(prev) + sep3(cur), avg(cur) + prev, avg(prev) + avg(prev),
            sep3(prev) + sep3(prev)), every sep with its own weights.
reduction:  a = sep7(prev)/2 + sep5(cur)/2;  c = max(cur)/2 + sep7(prev)/2;
            concat(a, c, avg(cur)/2 + sep5(prev)/2, max(cur)/2 + sep3(a), avg(a) + c), "/2" for stride 2.
Deviation of depth-wise weights sqrt(2/fan-in), of 1x1 weights RELU_GAIN/sqrt(fan-in) into a cell and 0.7/sqrt(fan-in)
in a sep; all but the depth-wise ones centred (see convolution.py). Biases 0.1.
"""

import onnx

from .builder import GraphBuilder
from .convolution import average_pool, classifier, conv, max_pool

Map = tuple[str, int]  # a feature map's name and its channels


def nasnet(channels: int = 88, size: int = 56, stages: int = 3, cells: int = 2, classes: int = 1000) -> onnx.ModelProto:
    """NasNet-A cells; input [1, channels, size, size], output logits [1, classes]."""
    b = GraphBuilder("nasnet")
    width = channels
    prev = cur = (b.graph_input("features", (1, channels, size, size)), channels)
    for stage in range(stages):
        if stage > 0:
            width *= 2
            prev = cur = _reduction_cell(b, prev, cur, width)
        for _ in range(cells):
            prev, cur = cur, _normal_cell(b, prev, cur, width)
    classifier(b, b.node("Relu", cur[0]), cur[1], classes)
    return b.build()


def _normal_cell(b: GraphBuilder, prev_map: Map, cur_map: Map, width: int) -> Map:
    prev, cur = _squeeze(b, prev_map, width), _squeeze(b, cur_map, width)
    pairs = (
        (_separable(b, cur, width, 3), cur),
        (_separable(b, prev, width, 3), _separable(b, cur, width, 3)),
        (average_pool(b, cur, pad=1), prev),
        (average_pool(b, prev, pad=1), average_pool(b, prev, pad=1)),
        (_separable(b, prev, width, 3), _separable(b, prev, width, 3)),
    )
    return b.node("Concat", *(b.node("Add", *pair) for pair in pairs), axis=1), 5 * width


def _reduction_cell(b: GraphBuilder, prev_map: Map, cur_map: Map, width: int) -> Map:
    prev, cur = _squeeze(b, prev_map, width), _squeeze(b, cur_map, width)
    first = b.node("Add", _separable(b, prev, width, 7, 2), _separable(b, cur, width, 5, 2))
    second = b.node("Add", max_pool(b, cur, pad=1), _separable(b, prev, width, 7, 2))
    third = b.node("Add", average_pool(b, cur, stride=2, pad=1), _separable(b, prev, width, 5, 2))
    fourth = b.node("Add", max_pool(b, cur, pad=1), _separable(b, first, width, 3))
    fifth = b.node("Add", average_pool(b, first, pad=1), second)
    return b.node("Concat", first, second, third, fourth, fifth, axis=1), 5 * width


def _squeeze(b: GraphBuilder, value: Map, width: int) -> str:
    return conv(b, b.node("Relu", value[0]), (value[1], width))


def _separable(b: GraphBuilder, value: str, width: int, kernel: int, stride: int = 1) -> str:
    """relu, depth-wise convolution, 1x1 convolution."""
    deep = conv(b, b.node("Relu", value), (width, width), kernel, stride, groups=width, gain=2**0.5, bias_std=0.0)
    return conv(b, deep, (width, width), gain=0.7)
