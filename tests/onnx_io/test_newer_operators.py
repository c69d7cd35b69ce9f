"""Operators that ONNX has since opset 20 or 23 are read and written, where the model's opset has them."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from taso_opt.core.term import Apply
from taso_opt.errors import SpecError
from taso_opt.onnx_io import read_model, standalone_model, write_model
from taso_opt.spec import load_specs

HEADS = "float[1,2,5,4] q, float[1,2,7,4] k, float[1,2,7,3] v"
GROUPED = "float[2,6,5] x, float[6] s, float[6] b"
MASKED = HEADS + ", float[5,7] mask"


def model(opset, inputs, output, node):
    return f'<ir_version: 10, opset_import: ["" : {opset}]> g ({inputs}) => (float{output} y) {{ y = {node} }}'


@pytest.mark.parametrize(
    ("opset", "inputs", "output", "node", "operands"),
    [
        (20, "float[3,4] x", "[3,4]", "Gelu(x)", 2),
        (20, "float[3,4] x", "[3,4]", 'Gelu<approximate = "tanh">(x)', 3),
        (21, GROUPED, "[2,6,5]", "GroupNormalization<num_groups = 3>(x, s, b)", 4),
        (23, "float[3,4] x, float[4] w", "[3,4]", "RMSNormalization<axis = -1>(x, w)", 3),
        (23, HEADS, "[1,2,5,3]", "Attention(q, k, v)", 4),
        (23, HEADS, "[1,2,5,3]", "Attention<scale = 0.25>(q, k, v)", 4),
        (23, MASKED, "[1,2,5,3]", "Attention(q, k, v, mask)", 5),
    ],
)
def test_they_are_read_and_written_as_they_were(read, opset, inputs, output, node, operands):
    found = read(model(opset, inputs, output, node))
    (term,) = found.graph.outputs
    assert isinstance(term, Apply) and (term.operator, len(term.args)) == (node.split("(")[0].split("<")[0], operands)
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()


@pytest.mark.parametrize(
    ("inputs", "output", "node"),
    [
        ("float[3,4,2] x, float[4,2] w", "[3,4,2]", "RMSNormalization<axis = 1>(x, w)"),
        (HEADS, "[1,2,5,3]", "Attention<is_causal = 1>(q, k, v)"),
        (HEADS, "[1,2,5,3]", "Attention<softcap = 2.0>(q, k, v)"),
        ("float[1,4,5,4] q, float[1,2,7,4] k, float[1,2,7,3] v", "[1,4,5,3]", "Attention(q, k, v)"),
        (HEADS + ", float[5,6] mask", "[1,2,5,3]", "Attention(q, k, v, mask)"),
        (HEADS + ", bool[5,7] mask", "[1,2,5,3]", "Attention(q, k, v, mask)"),
        (
            "float[1,5,8] q, float[1,7,8] k, float[1,7,6] v",
            "[1,5,6]",
            "Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v)",
        ),
    ],
    ids=["several axes", "causal", "capped", "shared keys", "short mask", "mask of truth values", "heads side by side"],
)
def test_what_their_specs_do_not_cover_stays_opaque(read, inputs, output, node):
    (term,) = read(model(23, inputs, output, node)).graph.outputs
    assert term.operator not in ("Attention", "RMSNormalization")


def test_a_gelu_with_another_factor_is_none_of_onnx(tmp_path):
    op = load_specs().builder()
    factors = numpy_helper.from_array(np.array(0.7, np.float32), "f")
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "f"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])],
        [factors],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    (product,) = read_model(path, load_specs()).graph.outputs
    x, factor = sorted(product.args, key=lambda term: len(op.type(term).shape), reverse=True)
    with pytest.raises(SpecError):
        standalone_model(op, [op.Gelu(x, factor)], [x], opset=20, ir_version=10)
