"""Rows that are looked up or repeated, and what they go through after that.

messages: the nodes of a graph [200, 64] and the two ends of 2,000 edges [2, 2000]; a linear layer with ReLU of each
    node, then of both nodes of an edge, joined, and a linear layer to one score of the edge.
timesteps: an image [1, 3, 32, 32] and one of 1,000 steps of a diffusion [1]; the embedding of the step [1000, 128] goes
    through three linear layers, 512 wide, with SiLU between them, and scales and shifts the 64 channels between two
    convolutions of 3x3.
recommendation: 64 users and 64 items by their numbers, of 5,000 and 2,000; the embedding of each, 64 wide, goes through
    two linear layers, 256 and 64 wide, with ReLU between them; the product of both is the score of the pair.
cloud: 512 points in space [1, 3, 512]; convolutions of one point with ReLU, 64, 128 and 512 wide, and the maximum over
    all points, which stands beside the first of them for each point; convolutions with ReLU, 256 and 128 wide, and one
    to 8 classes of each point.
Embeddings normal, biases 0.1.
"""

import onnx

from .builder import GraphBuilder, linear
from .convolution import conv

UNSQUEEZED = (1, -1, 1, 1)


def messages(nodes: int = 200, width: int = 64, edges: int = 2000, hidden: int = 128) -> onnx.ModelProto:
    """A layer of a graph network that scores edges; output [edges, 1]."""
    b = GraphBuilder("messages")
    x = b.graph_input("nodes", (nodes, width))
    ends = b.places("edges", (2, edges))
    states = b.node("Relu", linear(b, x, width, hidden))
    both = [b.node("Gather", states, b.node("Gather", ends, b.index(end), axis=0), axis=0) for end in (0, 1)]
    wide = b.node("Relu", linear(b, b.node("Concat", *both, axis=-1), 2 * hidden, hidden))
    b.graph_output(linear(b, wide, hidden, 1), (edges, 1))
    return b.build()


def timesteps(
    steps: int = 1000, width: int = 128, hidden: int = 512, channels: int = 64, image: int = 32
) -> onnx.ModelProto:
    """A block of a diffusion that a step scales and shifts; output [1, 3, image, image]."""
    b = GraphBuilder("timesteps")
    x = b.graph_input("image", (1, 3, image, image))
    step = b.places("step", (1,))
    value = b.node("Gather", b.normal((steps, width), 1.0, "embedding"), step, axis=0)
    for fan_in, fan_out in ((width, hidden), (hidden, hidden)):
        value = linear(b, value, fan_in, fan_out)
        value = b.node("Mul", value, b.node("Sigmoid", value))
    both = linear(b, value, hidden, 2 * channels)
    scale, shift = (
        b.reshape(
            b.node("Slice", both, b.integers([first]), b.integers([first + channels]), b.integers([1])), UNSQUEEZED
        )
        for first in (0, channels)
    )
    between = conv(b, x, (3, channels), 3)
    between = b.node("Add", b.node("Mul", between, b.node("Add", scale, b.scalar(1.0))), shift)
    between = b.node("Mul", between, b.node("Sigmoid", between))
    b.graph_output(conv(b, between, (channels, 3), 3), (1, 3, image, image))
    return b.build()


def recommendation(
    users: int = 5000, items: int = 2000, width: int = 64, hidden: int = 256, pairs: int = 64
) -> onnx.ModelProto:
    """Two towers, of users and of items; output [pairs, 1]."""
    b = GraphBuilder("recommendation")
    towers = []
    for name, rows in (("users", users), ("items", items)):
        ids = b.places(name, (pairs,))
        value = b.node("Gather", b.normal((rows, width), 1.0, "embedding"), ids, axis=0)
        wide = b.node("Relu", linear(b, value, width, hidden))
        towers.append(linear(b, wide, hidden, width))
    b.graph_output(b.node("ReduceSum", b.node("Mul", *towers), b.integers([-1]), keepdims=1), (pairs, 1))
    return b.build()


def cloud(
    points: int = 512, widths: tuple[int, ...] = (64, 128, 512), behind: tuple[int, ...] = (256, 128), classes: int = 8
) -> onnx.ModelProto:
    """A segmentation of points by a feature of all of them; output [1, classes, points]."""
    b = GraphBuilder("cloud")
    value, channels = b.graph_input("points", (1, 3, points)), 3
    own: list[str] = []
    for width in widths:
        value, channels = b.node("Relu", _of_points(b, value, channels, width)), width
        own.append(value)
    whole = b.node("Expand", b.node("ReduceMax", value, axes=[2], keepdims=1), b.integers((1, channels, points)))
    value, channels = b.node("Concat", own[0], whole, axis=1), widths[0] + channels
    for width in behind:
        value, channels = b.node("Relu", _of_points(b, value, channels, width)), width
    b.graph_output(_of_points(b, value, channels, classes), (1, classes, points))
    return b.build()


def _of_points(b: GraphBuilder, value: str, fan_in: int, fan_out: int) -> str:
    """A convolution of one point each."""
    weights = b.normal((fan_out, fan_in, 1), (2 / fan_in) ** 0.5)
    return b.node("Conv", value, weights, b.normal((fan_out,), 0.1, "bias"), kernel_shape=[1])
