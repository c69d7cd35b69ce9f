"""Networks that begin with what others leave to their callers: images brought to one scale, pixels taken in blocks.

raw_image: input [1, 193, 193, 3], channels last as cameras give them; over 2, less a mean and over a deviation of each
    channel (those of ImageNet), channels moved to the front; conv 3x3/2 without padding to 16; for c = 24, 32, 48, 64:
    depth-wise 3x3/2, conv 1x1 to c; each conv with relu; global average pool, dense layer to 100 logits.
pixel_blocks, as YOLOX-Nano begins: input [1, 3, 256, 256]; the pixels of each block of two by two, by slices of rows
    and then of columns, joined to 12 channels by columns; conv 3x3 to 16; for c = 32, 64: conv 3x3/2 to c, conv 1x1 to
    c; each conv followed by x sigmoid(x): [1, 64, 32, 32].
Deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1.
"""

import numpy as np
import onnx

from .builder import GraphBuilder
from .convolution import classifier, conv, conv_relu

COLOURS = 3
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ROWS, COLUMNS = 2, 3
FAR = 2**31 - 1


def raw_image(
    image: int = 193, width: int = 16, widths: tuple[int, ...] = (24, 32, 48, 64), classes: int = 100
) -> onnx.ModelProto:
    """An image as it comes, and a small network of separable convolutions."""
    b = GraphBuilder("raw_image")
    value = b.node("Div", b.graph_input("image", (1, image, image, COLOURS)), b.scalar(2.0))
    value = b.node("Sub", value, b.constant(np.array(MEAN, np.float32), "mean"))
    value = b.node("Div", value, b.constant(np.array(DEVIATION, np.float32), "deviation"))
    value = b.node("Transpose", value, perm=[0, 3, 1, 2])
    value = conv_relu(b, value, (COLOURS, width), 3, stride=2, pads=(0, 0))
    for following in widths:
        value = conv_relu(b, value, (width, width), 3, stride=2, groups=width)
        value, width = conv_relu(b, value, (width, following)), following
    classifier(b, value, width, classes)
    return b.build()


def pixel_blocks(image: int = 256, width: int = 16, widths: tuple[int, ...] = (32, 64)) -> onnx.ModelProto:
    """Pixels of blocks as channels, and the convolutions that follow."""
    b = GraphBuilder("pixel_blocks")
    pixels = b.graph_input("image", (1, COLOURS, image, image))
    parts = [
        _every_other(b, _every_other(b, pixels, ROWS, row), COLUMNS, column) for column in (0, 1) for row in (0, 1)
    ]
    value = _swish(b, conv(b, b.node("Concat", *parts, axis=1), (len(parts) * COLOURS, width), 3))
    for following in widths:
        value = _swish(b, conv(b, value, (width, following), 3, stride=2))
        value, width = _swish(b, conv(b, value, (following, following))), following
    size = image // 2 ** (1 + len(widths))
    b.graph_output(value, (1, width, size, size))
    return b.build()


def _every_other(b: GraphBuilder, value: str, axis: int, start: int) -> str:
    """Every other row or column, from the first or the second on."""
    return b.node("Slice", value, *map(b.integers, ((start,), (FAR,), (axis,), (2,))))


def _swish(b: GraphBuilder, value: str) -> str:
    return b.node("Mul", value, b.node("Sigmoid", value))
