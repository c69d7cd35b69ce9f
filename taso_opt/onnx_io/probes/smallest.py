"""The smallest model, by which a runtime shows what it loads."""

from __future__ import annotations

from onnx import TensorProto, helper


def identity_model(ir_version: int, opset: int) -> bytes:
    """A serialized model of one Identity on one float, in any version of the format and of the operators."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "probe", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    return bytes(model.SerializeToString())
