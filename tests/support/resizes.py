"""Models of one node that resizes."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from taso_opt.onnx_io import standalone_model


def resize(opset=19, *, op_type="Resize", shape=(2, 3, 4, 5), scales=None, sizes=None, given=True, **attributes):
    """A model of one resizing node."""
    constants = {"roi": np.array([], np.float32)} if op_type == "Resize" and opset >= 11 else {}
    constants["scales"] = np.array(scales or [], np.float32)
    if sizes is not None:
        constants["sizes"] = np.array(sizes, np.int64)
    if not given:
        constants, attributes = {}, {**attributes, "scales": [float(scale) for scale in scales]}
    node = helper.make_node(op_type, ["x", *constants], ["y"], **{"mode": "nearest", **attributes})
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None] * len(shape))
    graph = helper.make_graph([node], "g", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def written_alone(model, opset):
    """The node that a model of one node is written as, in a model of an opset; the checker accepts that."""
    (output,) = model.graph.outputs
    proto = onnx.load_from_string(
        standalone_model(model.builder, [output], [output.args[0]], opset=opset, ir_version=8)
    )
    onnx.checker.check_model(proto, full_check=True)
    return proto
