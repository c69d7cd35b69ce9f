"""ResNeXt-50 with 32 groups, three ways of writing one function of the same weights.

Input [1, 3, 224, 224]; conv 7x7/2 to 64 and relu, max pool 3x3/2; stages of 3, 4, 6, 3 blocks with widths w = 128, 256,
512, 1024: relu(shortcut(x) + conv1x1(relu(grouped conv3x3(relu(conv1x1(x) to w))) to 2w), stride 2 on the first 3x3 of
stages 2 to 4, shortcut a 1x1 convolution where the shape changes; global average pool, dense layer to 1000 logits.
No biases in the blocks, as in the TASO paper's network.
resnext50_grouped: one Conv of 32 groups. resnext50_split: Split into 32, 32 explicit 3x3 convolutions, Concat.
resnext50_branches: 32 full branches 1x1 - relu - 3x3 - relu - 1x1 from the block's input, summed one by one.
Deviation RELU_GAIN/sqrt(fan-in), the fan-in being that of the grouped form, filters centred (see convolution.py); the
last convolution of a block has half the gain, so that 16 residual sums stay of moderate size.

resnext_exported, as exporters leave such blocks when batch normalizations are folded: input [1, 64, 28, 28]; twice
relu(x + sum of 16 branches 1x1 - relu - 3x3 - relu - 1x1 of width 4), relu(x + Concat(3x3 of 16 slices of x)), all
convolutions with biases of deviation 0.1.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import onnx

from .builder import Array, GraphBuilder
from .convolution import RELU_GAIN, classifier, conv, conv_relu, filters, max_pool

Block = Callable[[GraphBuilder, str, "tuple[Array, Array, Array]", int, int], str]


def resnext50_grouped(
    image: int = 224, width: int = 128, groups: int = 32, blocks: Sequence[int] = (3, 4, 6, 3), classes: int = 1000
) -> onnx.ModelProto:
    """ResNeXt-50 with grouped convolutions; input [1, 3, image, image], output logits [1, classes]."""
    return _resnext("resnext50_grouped", _grouped, (image, width, groups, classes), blocks)


def resnext50_split(
    image: int = 224, width: int = 128, groups: int = 32, blocks: Sequence[int] = (3, 4, 6, 3), classes: int = 1000
) -> onnx.ModelProto:
    """ResNeXt-50 with Split, small convolutions, Concat; input [1, 3, image, image], output logits [1, classes]."""
    return _resnext("resnext50_split", _split, (image, width, groups, classes), blocks)


def resnext50_branches(
    image: int = 224, width: int = 128, groups: int = 32, blocks: Sequence[int] = (3, 4, 6, 3), classes: int = 1000
) -> onnx.ModelProto:
    """ResNeXt-50 with explicit branches, summed; input [1, 3, image, image], output logits [1, classes]."""
    return _resnext("resnext50_branches", _branches, (image, width, groups, classes), blocks)


def resnext_exported(image: int = 28, channels: int = 64, groups: int = 16, blocks: int = 2) -> onnx.ModelProto:
    """Branches and sliced convolutions with biases; input and output [1, channels, image, image]."""
    b = GraphBuilder("resnext_exported")
    value = b.graph_input("image", (1, channels, image, image))
    for _ in range(blocks):
        for part in (_biased_branches, _biased_slices):
            value = b.node("Relu", b.node("Add", part(b, value, channels, groups), value))
    b.graph_output(value, (1, channels, image, image))
    return b.build()


def _resnext(name: str, block: Block, sizes: tuple[int, int, int, int], blocks: Sequence[int]) -> onnx.ModelProto:
    image, width, groups, classes = sizes
    b = GraphBuilder(name, family="resnext50")
    channels = width // 2
    value = conv_relu(b, b.graph_input("image", (1, 3, image, image)), (3, channels), 7, stride=2, bias_std=0.0)
    value = max_pool(b, value, pad=1)
    for stage, count in enumerate(blocks):
        inner = width * 2**stage
        for position in range(count):
            stride = 2 if stage > 0 and position == 0 else 1
            branch = block(b, value, _weights(b, channels, inner, groups), stride, groups)
            if stride != 1 or channels != 2 * inner:
                value = conv(b, value, (channels, 2 * inner), stride=stride, gain=1.0, bias_std=0.0)
            value, channels = b.node("Relu", b.node("Add", branch, value)), 2 * inner
    classifier(b, value, channels, classes)
    return b.build()


def _weights(b: GraphBuilder, channels: int, inner: int, groups: int) -> tuple[Array, Array, Array]:
    narrow = inner // groups
    return (
        filters(b, (inner, channels, 1, 1)),
        filters(b, (inner, narrow, 3, 3)),
        filters(b, (2 * inner, inner, 1, 1), 0.5 * RELU_GAIN),
    )


def _grouped(b: GraphBuilder, value: str, weights: tuple[Array, Array, Array], stride: int, groups: int) -> str:
    value = b.node("Relu", _plain_conv(b, value, weights[0]))
    value = b.node("Relu", _plain_conv(b, value, weights[1], stride, groups))
    return _plain_conv(b, value, weights[2])


def _split(b: GraphBuilder, value: str, weights: tuple[Array, Array, Array], stride: int, groups: int) -> str:
    narrow = weights[1].shape[1]
    value = b.node("Relu", _plain_conv(b, value, weights[0]))
    pieces = b.split_node("Split", [value, b.integers([narrow] * groups)], groups, axis=1)
    convolved = [
        _plain_conv(b, piece, weights[1][group * narrow : (group + 1) * narrow], stride)
        for group, piece in enumerate(pieces)
    ]
    return _plain_conv(b, b.node("Relu", b.node("Concat", *convolved, axis=1)), weights[2])


def _branches(b: GraphBuilder, value: str, weights: tuple[Array, Array, Array], stride: int, groups: int) -> str:
    narrow = weights[1].shape[1]
    tops = []
    for group in range(groups):
        cut = slice(group * narrow, (group + 1) * narrow)
        branch = b.node("Relu", _plain_conv(b, value, weights[0][cut]))
        branch = b.node("Relu", _plain_conv(b, branch, weights[1][cut], stride))
        tops.append(_plain_conv(b, branch, weights[2][:, cut]))
    return b.total(tops)


def _biased_branches(b: GraphBuilder, value: str, channels: int, groups: int) -> str:
    narrow, tops = channels // groups, []
    for _ in range(groups):
        inner = conv_relu(b, conv_relu(b, value, (channels, narrow)), (narrow, narrow), 3)
        tops.append(conv(b, inner, (narrow, channels), gain=0.5 * RELU_GAIN * groups**-0.5))
    return b.total(tops)


def _biased_slices(b: GraphBuilder, value: str, channels: int, groups: int) -> str:
    narrow, axis = channels // groups, b.integers([1])
    places = [b.integers([group * narrow]) for group in range(groups + 1)]
    slices = (b.node("Slice", value, *place, axis) for place in pairwise(places))
    return b.node("Concat", *(conv(b, one, (narrow, narrow), 3) for one in slices), axis=1)


def _plain_conv(b: GraphBuilder, value: str, weight: Array, stride: int = 1, groups: int = 1) -> str:
    kernel = weight.shape[2]
    return b.node(
        "Conv",
        value,
        b.constant(weight),
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[kernel // 2] * 4,
        dilations=[1, 1],
        group=groups,
    )
