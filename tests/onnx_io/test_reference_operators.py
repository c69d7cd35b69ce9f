"""What replaces operators of ONNX's reference implementation computes the same."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from taso_opt.onnx_io.references.operators import CONVOLUTION


def convolution(**attributes):
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    values = [helper.make_tensor_value_info(name, 11, None) for name in ("x", "w", "b", "y")]
    return helper.make_model(
        helper.make_graph([node], "g", values[:3], values[3:]), opset_imports=[helper.make_opsetid("", 17)]
    )


CASES = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((1, 6, 9, 8), (4, 3, 3, 2), {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1]}),
    ((2, 4, 11, 10), (4, 1, 3, 3), {"group": 4, "dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    ((1, 200, 5, 5), (3, 200, 3, 3), {"auto_pad": "VALID"}),
    ((1, 2, 8, 7), (3, 2, 4, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    ((1, 2, 8, 7), (3, 2, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [3, 2]}),
    ((1, 2, 5, 6, 4), (3, 2, 2, 3, 2), {"pads": [1, 1, 0, 0, 1, 1], "strides": [2, 1, 1]}),
]


@pytest.mark.parametrize(("image", "weights", "attributes"), CASES)
def test_convolutions_agree_with_the_reference_implementation(image, weights, attributes):
    rng, model = np.random.default_rng(0), convolution(**attributes)
    shapes = {"x": image, "w": weights, "b": weights[:1]}
    feed = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    (expected,) = ReferenceEvaluator(model).run(None, feed)
    (found,) = ReferenceEvaluator(model, new_ops=[CONVOLUTION]).run(None, feed)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
