"""Cut-down structures of the benchmark networks: few operators of their real kinds, for searches that visit everything.

Each is one place of a network of `networks` at sizes of that order: what is worth rewriting in it is there, and nothing
twice. Sizes are smaller where nothing hangs on them, so that the kernels are measured in little time.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import onnx

from .builder import GraphBuilder, linear
from .convolution import average_pool, batch_norm, conv, conv_relu

WIDTH, ROWS = 256, 32
CHANNELS, IMAGE = 32, 28


def tower_pair(layers: int = 1) -> onnx.ModelProto:
    """Two inputs through the same dense layers, summed."""
    b = GraphBuilder("tower_pair")
    tops = [b.graph_input(name, (1, WIDTH)) for name in ("x1", "x2")]
    for _ in range(layers):
        weight, bias = b.normal((WIDTH, WIDTH), WIDTH**-0.5), b.normal((WIDTH,), 0.1, "bias")
        tops = [b.node("Relu", b.node("Add", b.node("MatMul", top, weight), bias)) for top in tops]
    return _finished(b, b.total(tops), (1, WIDTH))


def two_gates() -> onnx.ModelProto:
    """Two gates of an LSTM's step and their product: sig(x W1 + h U1) * tanh(x W2 + h U2)."""
    b = GraphBuilder("two_gates")
    x, h = b.graph_input("x", (1, WIDTH)), b.graph_input("h", (1, WIDTH))
    sums = [
        b.total([b.node("MatMul", value, b.normal((WIDTH, WIDTH), WIDTH**-0.5)) for value in (x, h)]) for _ in range(2)
    ]
    return _finished(b, b.node("Mul", b.node("Sigmoid", sums[0]), b.node("Tanh", sums[1])), (1, WIDTH))


def two_steps() -> onnx.ModelProto:
    """Two steps of a plain recurrence over shared weights: h = tanh(x W + h U)."""
    b = GraphBuilder("two_steps")
    h = b.graph_input("h", (1, WIDTH))
    inputs = [b.graph_input(f"x{step}", (1, WIDTH)) for step in (1, 2)]
    w, u = (b.normal((WIDTH, WIDTH), WIDTH**-0.5) for _ in range(2))
    for x in inputs:
        h = b.node("Tanh", b.node("Add", b.node("MatMul", x, w), b.node("MatMul", h, u)))
    return _finished(b, h, (1, WIDTH))


def context_step() -> onnx.ModelProto:
    """One step of SC-RNN's slow context: s = 0.05 (x B) + 0.95 s, then s P + x A."""
    b = GraphBuilder("context_step")
    x, s = b.graph_input("x", (1, WIDTH)), b.graph_input("s", (1, WIDTH // 2))
    fresh = b.node("Mul", b.node("MatMul", x, b.normal((WIDTH, WIDTH // 2), WIDTH**-0.5)), b.scalar(0.05))
    s = b.node("Add", fresh, b.node("Mul", s, b.scalar(0.95)))
    top = b.node("MatMul", s, b.normal((WIDTH // 2, WIDTH), WIDTH**-0.5))
    return _finished(b, b.node("Add", top, b.node("MatMul", x, b.normal((WIDTH, WIDTH), WIDTH**-0.5))), (1, WIDTH))


def multiplied_gate() -> onnx.ModelProto:
    """The gate of an MI-LSTM before its activation: a (x W) (h U) + b1 (h U) + b2 (x W)."""
    b = GraphBuilder("multiplied_gate")
    products = [
        b.node("MatMul", b.graph_input(name, (1, WIDTH)), b.normal((WIDTH, WIDTH), WIDTH**-0.5)) for name in "xh"
    ]
    both = b.node("Mul", b.node("Mul", b.normal((WIDTH,), 0.1, "a", 1.0), products[0]), products[1])
    alone = [b.node("Mul", b.normal((WIDTH,), 0.1, "b", 0.5), product) for product in reversed(products)]
    return _finished(b, b.total([both, *alone]), (1, WIDTH))


def linear_pair() -> onnx.ModelProto:
    """Two dense layers with nothing between them beside a third: ((x A + a) B + b) + x C."""
    b, inner = GraphBuilder("linear_pair"), WIDTH // 4
    x = b.graph_input("x", (ROWS, WIDTH))
    deep = linear(b, linear(b, x, WIDTH, inner), inner, WIDTH)
    beside = b.node("MatMul", x, b.normal((WIDTH, WIDTH), WIDTH**-0.5))
    return _finished(b, b.node("Tanh", b.node("Add", deep, beside)), (ROWS, WIDTH))


def adapter() -> onnx.ModelProto:
    """One linear layer with its low-rank adapter: tanh(x W + 0.5 (x A) B)."""
    b, rank = GraphBuilder("adapter"), 16
    x = b.graph_input("x", (ROWS, WIDTH))
    base = b.node("MatMul", x, b.normal((WIDTH, WIDTH), WIDTH**-0.5))
    low = b.node("MatMul", x, b.normal((WIDTH, rank), WIDTH**-0.5))
    update = b.node("MatMul", low, b.normal((rank, WIDTH), rank**-0.5))
    return _finished(b, b.node("Tanh", b.node("Add", base, b.node("Mul", update, b.scalar(0.5)))), (ROWS, WIDTH))


def matrix_chain() -> onnx.ModelProto:
    """Four matrices in a row, none of them a weight, bracketed from the left."""
    b = GraphBuilder("matrix_chain")
    sizes = (64, 96, 16, 128, 32)
    product, *others = (b.graph_input(f"m{at}", pair) for at, pair in enumerate(pairwise(sizes)))
    for other in others:
        product = b.node("MatMul", product, other)
    return _finished(b, product, (sizes[0], sizes[-1]))


def linear_head() -> onnx.ModelProto:
    """Attention without a softmax in one layer of two heads: ((Q K^T) / n) V, the projections outside."""
    b, heads, rows, inner = GraphBuilder("linear_head"), 2, 256, 32
    parts = [b.graph_input(name, (1, rows, heads, inner)) for name in "qkv"]
    moved = [b.node("Transpose", part, perm=[0, 2, 1, 3]) for part in (parts[0], parts[2])]
    scores = b.node("MatMul", moved[0], b.node("Transpose", parts[1], perm=[0, 2, 3, 1]))
    mixed = b.node("MatMul", b.node("Mul", scores, b.scalar(1 / rows)), moved[1])
    joined = b.reshape(b.node("Transpose", mixed, perm=[0, 2, 1, 3]), (1, rows, heads * inner))
    return _finished(b, joined, (1, rows, heads * inner))


def softmax_heads() -> onnx.ModelProto:
    """The scores of two heads that have projections of their own: softmax((x Wq) (x Wk)^T / sqrt(n))."""
    b, rows, inner = GraphBuilder("softmax_heads"), 64, 32
    x = b.graph_input("x", (rows, WIDTH))
    for _ in range(2):
        query, key = (b.node("MatMul", x, b.normal((WIDTH, inner), WIDTH**-0.5)) for _ in range(2))
        scores = b.node("MatMul", query, b.node("Transpose", key, perm=[1, 0]))
        b.graph_output(b.node("Softmax", b.node("Div", scores, b.scalar(math.sqrt(inner))), axis=-1), (rows, rows))
    return b.build()


def gelu() -> onnx.ModelProto:
    """A dense layer and GELU in a spelling that the runtime does not know: 0.5 y + (0.5 y) erf(y sqrt(1/2))."""
    b = GraphBuilder("gelu")
    value = linear(b, b.graph_input("x", (ROWS, WIDTH)), WIDTH, WIDTH)
    half = b.node("Mul", value, b.scalar(0.5))
    error = b.node("Erf", b.node("Mul", value, b.scalar(math.sqrt(0.5))))
    return _finished(b, b.node("Add", half, b.node("Mul", half, error)), (ROWS, WIDTH))


def layer_norm() -> onnx.ModelProto:
    """A layer normalization by products and a reciprocal, without scale and shift."""
    b = GraphBuilder("layer_norm")
    x = b.graph_input("x", (ROWS, WIDTH))
    centred = b.node("Sub", x, b.node("ReduceMean", x, axes=[-1], keepdims=1))
    variance = b.node("ReduceMean", b.node("Mul", centred, centred), axes=[-1], keepdims=1)
    inverse = b.node("Reciprocal", b.node("Sqrt", b.node("Add", variance, b.scalar(1e-5))))
    return _finished(b, b.node("Mul", centred, inverse), (ROWS, WIDTH))


def repvgg_block() -> onnx.ModelProto:
    """A RepVGG block: relu(conv3x3(x) + conv1x1(x) + x)."""
    b, both = GraphBuilder("repvgg_block"), (CHANNELS, CHANNELS)
    x = _image(b)
    total = b.total([conv(b, x, both, 3), conv(b, x, both), x])
    return _finished(b, b.node("Relu", total), (1, CHANNELS, IMAGE, IMAGE))


def grouped_block() -> onnx.ModelProto:
    """A ResNeXt block's middle and end: relu of a convolution of eight groups, conv 1x1, added to the input."""
    b, both = GraphBuilder("grouped_block"), (CHANNELS, CHANNELS)
    x = _image(b)
    grouped = conv_relu(b, x, both, 3, groups=8)
    return _finished(b, b.node("Relu", b.node("Add", conv(b, grouped, both), x)), (1, CHANNELS, IMAGE, IMAGE))


def expanded_kernel() -> onnx.ModelProto:
    """A layer of an ExpandNet as it is trained: conv 1x1 to more channels, conv 3x3, conv 1x1 back, nothing between."""
    b, wide = GraphBuilder("expanded_kernel"), 2 * CHANNELS
    value = conv(b, _image(b), (CHANNELS, wide), bias_std=0.0)
    value = conv(b, value, (wide, wide), 3)
    return _finished(b, b.node("Relu", conv(b, value, (wide, CHANNELS))), (1, CHANNELS, IMAGE, IMAGE))


def fire() -> onnx.ModelProto:
    """SqueezeNet's fire module: relu(conv1x1), then a 1x1 and a 3x3 side by side, concatenated."""
    b, inner = GraphBuilder("fire"), CHANNELS // 2
    narrow = conv_relu(b, _image(b), (CHANNELS, inner))
    parts = conv_relu(b, narrow, (inner, CHANNELS)), conv_relu(b, narrow, (inner, CHANNELS), 3)
    return _finished(b, b.node("Concat", *parts, axis=1), (1, 2 * CHANNELS, IMAGE, IMAGE))


def mobile_block() -> onnx.ModelProto:
    """The end of a MobileNet block: depth-wise 3x3, hard-swish in small operators, conv 1x1, added to the input."""
    b, both = GraphBuilder("mobile_block"), (CHANNELS, CHANNELS)
    x = _image(b)
    deep = conv(b, x, both, 3, groups=CHANNELS)
    clipped = b.node("Clip", b.node("Add", deep, b.scalar(3.0)), b.scalar(0.0), b.scalar(6.0))
    swish = b.node("Div", b.node("Mul", deep, clipped), b.scalar(6.0))
    return _finished(b, b.node("Add", x, conv(b, swish, both)), (1, CHANNELS, IMAGE, IMAGE))


def transition() -> onnx.ModelProto:
    """DenseNet's transition: batch norm, relu, conv 1x1 to half the channels, average pool 2x2."""
    b = GraphBuilder("transition")
    value = b.node("Relu", batch_norm(b, _image(b), CHANNELS))
    value = conv(b, value, (CHANNELS, CHANNELS // 2), bias_std=0.0)
    return _finished(b, average_pool(b, value, kernel=2, stride=2), (1, CHANNELS // 2, IMAGE // 2, IMAGE // 2))


def pool_pair() -> onnx.ModelProto:
    """Two branches of a NasNet cell: avg(x) + y and avg(y) + avg(y), concatenated."""
    b, shape = GraphBuilder("pool_pair"), (1, CHANNELS, IMAGE, IMAGE)
    x, y = (b.graph_input(name, shape) for name in "xy")
    first = b.node("Add", average_pool(b, x, pad=1), y)
    second = b.node("Add", average_pool(b, y, pad=1), average_pool(b, y, pad=1))
    return _finished(b, b.node("Concat", first, second, axis=1), (1, 2 * CHANNELS, IMAGE, IMAGE))


def inception_pair() -> onnx.ModelProto:
    """Two branches of an Inception module that begin alike: conv1x1 and conv1x1 followed by 3x3, concatenated."""
    b, inner = GraphBuilder("inception_pair"), CHANNELS // 2
    x = _image(b)
    small = conv_relu(b, x, (CHANNELS, inner))
    large = conv_relu(b, conv_relu(b, x, (CHANNELS, inner)), (inner, inner), 3)
    return _finished(b, b.node("Concat", small, large, axis=1), (1, 2 * inner, IMAGE, IMAGE))


def _image(b: GraphBuilder) -> str:
    return b.graph_input("image", (1, CHANNELS, IMAGE, IMAGE))


def _finished(b: GraphBuilder, value: str, shape: tuple[int, ...]) -> onnx.ModelProto:
    b.graph_output(value, shape)
    return b.build()


_BUILDERS: tuple[Callable[[], onnx.ModelProto], ...] = (
    tower_pair,
    two_gates,
    two_steps,
    context_step,
    multiplied_gate,
    linear_pair,
    adapter,
    matrix_chain,
    linear_head,
    softmax_heads,
    gelu,
    layer_norm,
    repvgg_block,
    grouped_block,
    expanded_kernel,
    fire,
    mobile_block,
    transition,
    pool_pair,
    inception_pair,
)

SMALL = {builder.__name__: builder for builder in _BUILDERS}
