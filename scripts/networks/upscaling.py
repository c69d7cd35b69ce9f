"""An image made three times as large by convolutions that correct a bicubic interpolation.

upscaler: input [1, 3, 64, 64]; four convs 3x3 to 32 with relu, conv 3x3 to 27, DepthToSpace by 3; added to the input
    enlarged by cubic interpolation (the pixels where PyTorch has them): [1, 3, 192, 192].
Deviation RELU_GAIN/sqrt(fan-in), filters centred (see convolution.py), biases 0.1.
"""

import numpy as np
import onnx

from .builder import GraphBuilder
from .convolution import conv, conv_relu

COLOURS = 3


def upscaler(image: int = 64, width: int = 32, layers: int = 4, times: int = 3) -> onnx.ModelProto:
    """Convolutions at the size of the input, and a skip connection that interpolates."""
    b = GraphBuilder("upscaler")
    small = b.graph_input("image", (1, COLOURS, image, image))
    value = small
    for layer in range(layers):
        value = conv_relu(b, value, (width if layer else COLOURS, width), 3)
    value = conv(b, value, (width, COLOURS * times**2), 3)
    details = b.node("DepthToSpace", value, blocksize=times)
    scales = b.constant(np.array([1, 1, times, times], np.float32), "scales")
    places = {"coordinate_transformation_mode": "pytorch_half_pixel", "cubic_coeff_a": -0.75}
    smooth = b.node("Resize", small, "", scales, mode="cubic", **places)
    b.graph_output(b.node("Add", smooth, details), (1, COLOURS, times * image, times * image))
    return b.build()
