"""Convolutions of volumes: a video by (2+1)D convolutions, and a scan by a small U-Net.

video (Tran et al., "A Closer Look at Spatiotemporal Convolutions", CVPR 2018): input [1, 3, 8, 56, 56], so many frames;
    conv 1x7x7/2 to 24, conv 3x1x1 to 32; three residual blocks of two (2+1)D convolutions (1x3x3, then 3x1x1), of 32,
    64 and 128 channels, the last two with every other pixel; mean over all; linear to 100.
scan (Cicek et al., "3D U-Net", MICCAI 2016): input [1, 1, 16, 32, 32]; two convs 3x3x3 of 16, max pool by 2, two of 32,
    enlarged to the nearest, joined with the first, two of 16; conv 1x1x1 to 3.
Relu behind each convolution but the last of a block and the last of all; deviation RELU_GAIN/sqrt(fan-in), filters
centred (see convolution.py), biases 0.1.
"""

from itertools import pairwise

import numpy as np
import onnx

from .builder import GraphBuilder, linear
from .convolution import filters

Size = tuple[int, int, int]
WHOLE, FRAME, COLUMN, PIXEL = (3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1)


def video(
    frames: int = 8, image: int = 56, first: int = 24, widths: tuple[int, ...] = (32, 64, 128), classes: int = 100
) -> onnx.ModelProto:
    """A residual network of (2+1)D convolutions; output [1, classes]."""
    b = GraphBuilder("video")
    value = b.graph_input("video", (1, 3, frames, image, image))
    value = _conv_relu(b, value, (3, first), (1, 7, 7), stride=2)
    value = _conv_relu(b, value, (first, widths[0]), COLUMN)
    for before, width in pairwise((widths[0], *widths)):
        value = _block(b, value, before, width)
    mean = b.node("ReduceMean", value, axes=[2, 3, 4], keepdims=0)
    b.graph_output(linear(b, mean, widths[-1], classes), (1, classes))
    return b.build()


def scan(frames: int = 16, image: int = 32, width: int = 16, classes: int = 3) -> onnx.ModelProto:
    """A U-Net of one pooling; output [1, classes, frames, image, image]."""
    b = GraphBuilder("scan")
    value = b.graph_input("scan", (1, 1, frames, image, image))
    fine = _conv_relu(b, _conv_relu(b, value, (1, width), WHOLE), (width, width), WHOLE)
    half = b.node("MaxPool", fine, kernel_shape=[2] * 3, strides=[2] * 3)
    half = _conv_relu(b, _conv_relu(b, half, (width, 2 * width), WHOLE), (2 * width, 2 * width), WHOLE)
    scales = b.constant(np.array([1, 1, 2, 2, 2], np.float32), "scales")
    places = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    large = b.node("Resize", half, "", scales, mode="nearest", **places)
    joined = b.node("Concat", large, fine, axis=1)
    value = _conv_relu(b, _conv_relu(b, joined, (3 * width, width), WHOLE), (width, width), WHOLE)
    b.graph_output(_conv(b, value, (width, classes), PIXEL), (1, classes, frames, image, image))
    return b.build()


def _block(b: GraphBuilder, value: str, before: int, width: int) -> str:
    stride = 1 if before == width else 2
    rest = value if before == width else _conv(b, value, (before, width), PIXEL, stride)
    value = _conv_relu(b, value, (before, width), FRAME, stride)
    for size in (COLUMN, FRAME):
        value = _conv_relu(b, value, (width, width), size)
    return b.node("Relu", b.node("Add", _conv(b, value, (width, width), COLUMN), rest))


def _conv(b: GraphBuilder, value: str, channels: tuple[int, int], size: Size, stride: int = 1) -> str:
    """A convolution that moves by so many pixels, padded so that a window of one frame or pixel keeps all of these."""
    weight = b.constant(filters(b, (channels[1], channels[0], *size)))
    bias = b.normal((channels[1],), 0.1, "bias")
    pads = [extent // 2 for extent in size]
    return b.node("Conv", value, weight, bias, kernel_shape=list(size), strides=[1, stride, stride], pads=pads * 2)


def _conv_relu(b: GraphBuilder, value: str, channels: tuple[int, int], size: Size, stride: int = 1) -> str:
    return b.node("Relu", _conv(b, value, channels, size, stride))
