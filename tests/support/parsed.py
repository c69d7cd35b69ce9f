"""Models in ONNX's own text, with random weights."""

import numpy as np
from onnx import numpy_helper, parser

CHAIN = """<ir_version: 8, opset_import: ["" : 17]>
chain (float[64,512] x) => (float[64,16] y) { h = MatMul(x, a)  y = MatMul(h, b) }"""
CHAINED = {"a": (512, 512), "b": (512, 16)}
"""The shapes of its weights: folding these saves everything."""


def with_weights(text, **shapes):
    """The model of a text with weights of these shapes, such that products keep the scale of what they multiply."""
    model, generator = parser.parse_model(text), np.random.default_rng(0)
    for name, shape in shapes.items():
        values = generator.standard_normal(shape).astype(np.float32) / shape[0] ** 0.5
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model
