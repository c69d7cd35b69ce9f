"""Convolutions, pools and classifiers with seeded weights, shared by the convolutional networks.

Every filter over several channels is centred: its mean is subtracted. Without that, the positive mean of a relu adds up
from layer to layer until the outputs of a random network hardly depend on its input (by 1% after 50 layers), and a
comparison of outputs would test next to nothing.
"""

import math
from collections.abc import Sequence

import numpy as np

from .builder import Array, GraphBuilder

# A relu leaves (1 - 1/pi)/2 of the variance of normal(0, 1) numbers: this factor makes up for it.
RELU_GAIN = (2 / (1 - 1 / math.pi)) ** 0.5


def filters(b: GraphBuilder, shape: Sequence[int], gain: float = RELU_GAIN) -> Array:
    """Weights [out, in / groups, ...] of deviation gain/sqrt(fan-in), centred unless each is over one channel."""
    weights = b.draw(shape, gain / math.prod(shape[1:]) ** 0.5)
    if shape[1] == 1:
        return weights
    centred: Array = weights - np.mean(weights, axis=tuple(range(1, len(shape))), keepdims=True)
    return centred


def conv(
    b: GraphBuilder,
    value: str,
    channels: tuple[int, int],
    kernel: int | tuple[int, int] = 1,
    stride: int = 1,
    groups: int = 1,
    pads: Sequence[int] | None = None,
    gain: float = RELU_GAIN,
    bias_std: float = 0.1,
) -> str:
    """A convolution from channels[0] to channels[1], its weights normal with deviation gain/sqrt(fan-in).

    `pads` is (rows, columns), the same at both ends; without it a kernel of size k is padded by k // 2. A bias_std of
    0 leaves the bias out.
    """
    size = (kernel, kernel) if isinstance(kernel, int) else kernel
    rows, columns = pads if pads is not None else (size[0] // 2, size[1] // 2)
    shape = (channels[1], channels[0] // groups, *size)
    weight = b.constant(filters(b, shape, gain))
    bias = [b.normal((channels[1],), bias_std, "bias")] if bias_std else []
    return b.node(
        "Conv",
        value,
        weight,
        *bias,
        kernel_shape=list(size),
        strides=[stride, stride],
        pads=[rows, columns, rows, columns],
        dilations=[1, 1],
        group=groups,
    )


def conv_relu(
    b: GraphBuilder,
    value: str,
    channels: tuple[int, int],
    kernel: int | tuple[int, int] = 1,
    stride: int = 1,
    groups: int = 1,
    pads: Sequence[int] | None = None,
    bias_std: float = 0.1,
) -> str:
    """The relu of a convolution with the gain that keeps the size of activations through a relu."""
    return b.node("Relu", conv(b, value, channels, kernel, stride, groups, pads, bias_std=bias_std))


def max_pool(b: GraphBuilder, value: str, kernel: int = 3, pad: int = 0, ceil: bool = False) -> str:
    """A square max pool of every other place, padded alike on all sides."""
    return b.node(
        "MaxPool",
        value,
        kernel_shape=[kernel, kernel],
        strides=[2, 2],
        pads=[pad] * 4,
        ceil_mode=int(ceil),
    )


def average_pool(b: GraphBuilder, value: str, kernel: int = 3, stride: int = 1, pad: int = 0) -> str:
    """A square average pool, padded alike on all sides; the zeros of the padding count."""
    return b.node(
        "AveragePool",
        value,
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[pad] * 4,
        count_include_pad=1,
    )


def batch_norm(b: GraphBuilder, value: str, channels: int, second_moment: float = 1.0) -> str:
    """Inference batch normalization with random statistics around mean 0 and the variance `second_moment`."""
    shape = (channels,)
    spread = second_moment**0.5
    return b.node(
        "BatchNormalization",
        value,
        b.constant(b.draw_uniform(shape, 0.7, 1.3), "scale"),
        b.normal(shape, 0.1, "shift"),
        b.normal(shape, 0.1 * spread, "mean"),
        b.constant(b.draw_uniform(shape, 0.7, 1.3) * second_moment, "variance"),
        epsilon=1e-5,
    )


def classifier(b: GraphBuilder, value: str, channels: int, classes: int) -> None:
    """Global average pool and one dense layer to logits [1, classes], the graph's output; no softmax, on purpose."""
    pooled = b.node("Flatten", b.node("GlobalAveragePool", value), axis=1)
    weight = b.constant(filters(b, (classes, channels), 1.0))
    logits = b.node("Gemm", pooled, weight, b.normal((classes,), 0.1, "bias"), transB=1)
    b.graph_output(logits, (1, classes))
