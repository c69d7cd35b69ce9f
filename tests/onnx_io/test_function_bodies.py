"""ONNX's functions are put in the place of nodes, and compute what the nodes do."""

import numpy as np
import pytest
from onnx import parser

from taso_opt.onnx_io import newest_opset, opsets_with_body, with_body

X = np.linspace(-4, 4, 24, dtype=np.float32).reshape(2, 3, 4)
NODES = {
    "HardSwish": "HardSwish(x)",
    "LeakyRelu": "LeakyRelu<alpha = 0.3>(x)",
    "Elu": "Elu(x)",
    "Selu": "Selu<alpha = 1.5, gamma = 1.25>(x)",
    "HardSigmoid": "HardSigmoid<beta = 0.25>(x)",
    "Gelu": 'Gelu<approximate = "tanh">(x)',
    "Softmax": "Softmax<axis = 1>(x)",
    "LayerNormalization": "LayerNormalization<axis = -1>(x, scale)",
    "Clip": "Clip(x, low)",
}


def model(node, opset=20):
    return parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : {opset}]> g (float[2,3,4] x) => (float[2,3,4] y) '
        f"<float[4] scale = {{1.0, 0.5, 2.0, -1.0}}, float low = {{-0.75}}> {{ y = {node} }}"
    )


@pytest.mark.parametrize("name", NODES)
def test_a_body_computes_what_its_node_does(run, name):
    proto = model(NODES[name])
    body = with_body(proto)
    assert name not in {node.op_type for node in body.graph.node}
    assert not any(attribute.ref_attr_name for node in body.graph.node for attribute in node.attribute)
    np.testing.assert_allclose(run(body, {"x": X})["y"], run(proto, {"x": X})["y"], rtol=1e-5, atol=1e-6)


def test_what_has_no_function_has_no_body():
    assert with_body(model("Tanh(x)")) is None
    assert with_body(model("Neg(x) z = Mish(x)")) is None
    assert with_body(model("Relu(x)", opset=13)) is None
    assert opsets_with_body("Tanh") == opsets_with_body("Invented") == ()


def test_versions_with_a_function_are_known_in_order():
    assert opsets_with_body("Mish") == (18, 22)
    assert all(opset <= newest_opset() for opset in opsets_with_body("Mish"))
    assert list(opsets_with_body("LayerNormalization")) == sorted(opsets_with_body("LayerNormalization"))
