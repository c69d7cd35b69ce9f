"""A MobileNet-style network whose activations are spelled with small operators.

Input [1, 3, 224, 224]; conv 3x3/2 to 32; inverted residual blocks (conv 1x1 to t times the channels, activation,
depth-wise 3x3, activation, conv 1x1 to c, added to the block's input where shapes agree) with (t, c, count, stride) of
STAGES; conv 1x1 to 1280, activation, global average pool, dense layer to 1000 logits. The activation changes from block
to block: PRelu with a slope a channel (uniform in 0.05..0.35), mish as x * tanh(softplus(x)), hard-swish as
x * clip(x + 3, 0, 6) / 6. Deviation
sqrt(2/fan-in), 1/sqrt(fan-in) before a sum, all but the depth-wise filters centred (see convolution.py); biases 0.1.
"""

from collections.abc import Callable

import onnx

from .builder import GraphBuilder
from .convolution import classifier, conv

STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
STEM, TOP = 32, 1280
GAIN = 2**0.5


def mobilenet_spellings(image: int = 224, divide: int = 1, classes: int = 1000) -> onnx.ModelProto:
    """Inverted residuals with all widths divided; input [1, 3, image, image], output logits [1, classes]."""
    b = GraphBuilder("mobilenet_spellings")
    channels, top = STEM // divide, TOP // divide
    value = conv(b, b.graph_input("image", (1, 3, image, image)), (3, channels), 3, stride=2, gain=GAIN)
    value = _hard_swish(b, value, channels)
    number = 0
    for expansion, width, count, stride in STAGES:
        for position in range(count):
            activation = ACTIVATIONS[number % len(ACTIVATIONS)]
            shape = (channels, expansion * channels, width // divide)
            value = _block(b, value, shape, stride if position == 0 else 1, activation)
            channels, number = width // divide, number + 1
    value = _mish(b, conv(b, value, (channels, top), gain=GAIN), top)
    classifier(b, value, top, classes)
    return b.build()


def _block(b: GraphBuilder, value: str, shape: tuple[int, int, int], stride: int, activation: "Activation") -> str:
    channels, inner, out = shape
    branch = value
    if inner != channels:
        branch = activation(b, conv(b, branch, (channels, inner), gain=GAIN), inner)
    branch = activation(b, conv(b, branch, (inner, inner), 3, stride, groups=inner, gain=GAIN), inner)
    branch = conv(b, branch, (inner, out), gain=1.0)
    return b.node("Add", value, branch) if stride == 1 and channels == out else branch


def _prelu(b: GraphBuilder, value: str, channels: int) -> str:
    return b.node("PRelu", value, b.constant(b.draw_uniform((channels, 1, 1), 0.05, 0.35), "slope"))


def _mish(b: GraphBuilder, value: str, _channels: int) -> str:
    return b.node("Mul", value, b.node("Tanh", b.node("Softplus", value)))


def _hard_swish(b: GraphBuilder, value: str, _channels: int) -> str:
    clipped = b.node("Clip", b.node("Add", value, b.scalar(3.0)), b.scalar(0.0), b.scalar(6.0))
    return b.node("Div", b.node("Mul", value, clipped), b.scalar(6.0))


Activation = Callable[[GraphBuilder, str, int], str]
ACTIVATIONS: tuple[Activation, ...] = (_prelu, _mish, _hard_swish)
