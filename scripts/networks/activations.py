"""Convolutions whose activations are put together from small operators, as code and exporters spell them.

activation_spellings: input [1, 48, 56, 56]; for each spelling a conv 3x3 from 48 to 48 channels and: a leaky relu as
    where(x > 0, x, 0.1 x), one with a slope a channel (uniform in 0.05..0.35) as where(x < 0, s x, x), one as
    max(x, 0.2 x); an elu as where(x > 0, x, exp(x) - 1); mish as x * tanh(log(1 + exp(x))); swish as
    x / (1 + exp(-x)); hard-swish as x * min(max(x + 3, 0), 6) / 6.
Deviation sqrt(2/fan-in), filters centred (see convolution.py), biases 0.1.
"""

from collections.abc import Callable

import onnx

from .builder import GraphBuilder
from .convolution import conv

GAIN = 2**0.5


def activation_spellings(channels: int = 48, image: int = 56) -> onnx.ModelProto:
    """A convolution for each spelling, one after the other; input and output [1, channels, image, image]."""
    b = GraphBuilder("activation_spellings")
    shape = (1, channels, image, image)
    value = b.graph_input("image", shape)
    for activated in SPELLINGS:
        value = activated(b, conv(b, value, (channels, channels), 3, gain=GAIN), channels)
    b.graph_output(value, shape)
    return b.build()


def _leaky_relu(b: GraphBuilder, value: str, _channels: int) -> str:
    small = b.node("Mul", value, b.scalar(0.1))
    return b.node("Where", b.node("Greater", value, b.scalar(0.0)), value, small)


def _leaky_relu_by_channel(b: GraphBuilder, value: str, channels: int) -> str:
    slopes = b.constant(b.draw_uniform((channels, 1, 1), 0.05, 0.35), "slope")
    return b.node("Where", b.node("Less", value, b.scalar(0.0)), b.node("Mul", slopes, value), value)


def _leaky_relu_by_maximum(b: GraphBuilder, value: str, _channels: int) -> str:
    return b.node("Max", value, b.node("Mul", b.scalar(0.2), value))


def _elu(b: GraphBuilder, value: str, _channels: int) -> str:
    below = b.node("Sub", b.node("Exp", value), b.scalar(1.0))
    return b.node("Where", b.node("Greater", value, b.scalar(0.0)), value, below)


def _mish(b: GraphBuilder, value: str, _channels: int) -> str:
    softplus = b.node("Log", b.node("Add", b.node("Exp", value), b.scalar(1.0)))
    return b.node("Mul", value, b.node("Tanh", softplus))


def _swish(b: GraphBuilder, value: str, _channels: int) -> str:
    return b.node("Div", value, b.node("Add", b.node("Exp", b.node("Neg", value)), b.scalar(1.0)))


def _hard_swish(b: GraphBuilder, value: str, _channels: int) -> str:
    clipped = b.node("Min", b.node("Max", b.node("Add", value, b.scalar(3.0)), b.scalar(0.0)), b.scalar(6.0))
    return b.node("Div", b.node("Mul", value, clipped), b.scalar(6.0))


SPELLINGS: tuple[Callable[[GraphBuilder, str, int], str], ...] = (
    _leaky_relu,
    _leaky_relu_by_channel,
    _leaky_relu_by_maximum,
    _elu,
    _mish,
    _swish,
    _hard_swish,
)
