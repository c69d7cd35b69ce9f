"""Functions of distances to fixed points.

radial: input [128, 32], so many points; their squared distances to 200 centres, with all differences at once
    [128, 200, 32]; exp(-b d) with a width b of each centre; linear to 10.
Centres normal, widths uniform between 0.01 and 0.03, so that no function is 0 everywhere; biases 0.1.
"""

import onnx

from .builder import GraphBuilder, linear


def radial(points: int = 128, width: int = 32, centres: int = 200, outputs: int = 10) -> onnx.ModelProto:
    """A layer of radial functions and a linear one; output [points, outputs]."""
    b = GraphBuilder("radial")
    x = b.graph_input("points", (points, width))
    differences = b.node("Sub", b.reshape(x, (points, 1, width)), b.normal((1, centres, width), 1.0, "centres"))
    squares = b.node("Pow", differences, b.scalar(2.0))
    distances = b.node("ReduceSum", squares, b.integers([-1]), keepdims=0)
    widths = b.constant(-b.draw_uniform((centres,), 0.01, 0.03), "widths")
    values = b.node("Exp", b.node("Mul", distances, widths))
    b.graph_output(linear(b, values, centres, outputs), (points, outputs))
    return b.build()
