"""Networks on signals, whose convolutions slide along one axis: a keyword spotter, a WaveNet and blocks of a vocoder.

keyword_spotter: input [1, 64, 200], features over time; conv 5 to 128, relu; five blocks x + relu(pointwise(depthwise
    9 (x))); pointwise to 35 words, mean over time: [1, 35].
wavenet: input [1, 1, 1024], a waveform; pointwise to 32; eight layers of a conv of two taps, 2^i apart, to 64 channels,
    of which half pass tanh and half sig. Their product goes pointwise to 64 channels, of which the last 256 places are
    added up over all layers, and to 32, to which the layer's own input is added. Then relu, pointwise to 64, relu,
    pointwise to 256: [1, 256, 256].
vocoder: input [1, 80, 1000], a spectrogram; conv 7 to 64; the mean of three stacks, of kernels 3, 7 and 11, each of
    three layers x + conv(leaky(x)) with dilations 1, 3, 5; leaky, conv 7 to one channel, tanh: [1, 1, 1000].
Deviation 1/sqrt(fan-in), twice as much where a relu reads it (GAIN); biases 0.1; the slope of leaky relus is 0.1.
"""

import onnx

from .builder import GraphBuilder

GAIN = 2.0
SLOPE = 0.1


def keyword_spotter(
    features: int = 64, width: int = 128, steps: int = 200, blocks: int = 5, words: int = 35
) -> onnx.ModelProto:
    """A keyword spotter of separable convolutions over time; output [1, words]."""
    b = GraphBuilder("keyword_spotter")
    value = _conv(b, b.graph_input("features", (1, features, steps)), features, width, 5, gain=GAIN)
    value = b.node("Relu", value)
    for _ in range(blocks):
        deep = _conv(b, value, width, width, 9, group=width)
        wide = b.node("Relu", _conv(b, deep, width, width, gain=GAIN))
        value = b.node("Add", wide, value)
    scores = b.node("ReduceMean", _conv(b, value, width, words), axes=[2], keepdims=0)
    b.graph_output(scores, (1, words))
    return b.build()


def wavenet(steps: int = 1024, kept: int = 256, width: int = 32, layers: int = 8) -> onnx.ModelProto:
    """A WaveNet of one stack; output [1, 256, kept]."""
    b = GraphBuilder("wavenet")
    value, length = _conv(b, b.graph_input("waveform", (1, 1, steps)), 1, width), steps
    total = None
    for layer in range(layers):
        length -= 2**layer
        both = _conv(b, value, width, 2 * width, 2, dilation=2**layer, pads=(0, 0))
        first, second = b.split_node("Split", [both, b.integers([width, width])], 2, axis=1)
        gated = b.node("Mul", b.node("Tanh", first), b.node("Sigmoid", second))
        said = _last(b, _conv(b, gated, width, 2 * width), kept)
        total = said if total is None else b.node("Add", total, said)
        if layer + 1 < layers:
            value = b.node("Add", _conv(b, gated, width, width), _last(b, value, length))
    assert total is not None, "at least one layer"
    hidden = b.node("Relu", _conv(b, b.node("Relu", total), 2 * width, 2 * width, gain=GAIN))
    b.graph_output(_conv(b, hidden, 2 * width, 256), (1, 256, kept))
    return b.build()


def vocoder(bands: int = 80, width: int = 64, steps: int = 1000) -> onnx.ModelProto:
    """The blocks of a vocoder at one resolution; output [1, 1, steps]."""
    b = GraphBuilder("vocoder")
    start = _conv(b, b.graph_input("spectrogram", (1, bands, steps)), bands, width, 7)
    stacks = []
    for kernel in (3, 7, 11):
        value = start
        for dilation in (1, 3, 5):
            value = b.node("Add", value, _conv(b, _leaky(b, value), width, width, kernel, dilation=dilation, gain=0.5))
        stacks.append(value)
    mean = b.node("Div", b.total(stacks), b.scalar(3.0))
    b.graph_output(b.node("Tanh", _conv(b, _leaky(b, mean), width, 1, 7, gain=0.5)), (1, 1, steps))
    return b.build()


def _conv(
    b: GraphBuilder,
    value: str,
    inputs: int,
    outputs: int,
    kernel: int = 1,
    *,
    dilation: int = 1,
    group: int = 1,
    pads: tuple[int, int] | None = None,
    gain: float = 1.0,
) -> str:
    """A convolution along the last axis that keeps its length, unless pads say otherwise."""
    around = (dilation * (kernel - 1) // 2,) * 2 if pads is None else pads
    fan_in = kernel * inputs // group
    weights = b.normal((outputs, inputs // group, kernel), gain * fan_in**-0.5)
    attributes = {"dilations": [dilation], "group": group, "kernel_shape": [kernel], "pads": around, "strides": [1]}
    return b.node("Conv", value, weights, b.normal((outputs,), 0.1, "bias"), **attributes)


def _leaky(b: GraphBuilder, value: str) -> str:
    return b.node("LeakyRelu", value, alpha=SLOPE)


def _last(b: GraphBuilder, value: str, length: int) -> str:
    """The last places of a signal."""
    return b.node("Slice", value, b.integers([-length]), b.integers([2**31]), b.integers([2]))
