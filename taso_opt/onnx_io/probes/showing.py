"""Copies of models that show what is inside."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import ModelProto, helper

HIDING = ("Sigmoid", "Softmax", "Tanh")
MOVING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""What may stand behind such a function."""

Inner = tuple[tuple[str, ...], str]
"""What stands between an output and what goes into the function, and the name of that."""


def showing(proto: ModelProto, names: Iterable[str]) -> ModelProto:
    """A copy of a model that gives inner values of these names too, behind its outputs."""
    result = ModelProto()
    result.CopyFrom(proto)
    result.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    return result


def what_goes_in(proto: ModelProto, output: int) -> Inner | None:
    """What goes into the last function of an output, if that hides differences; None for any other output.

    None also where outputs are no tensors: a sequence of them counts as many.
    """
    if not all(value.type.HasField("tensor_type") for value in proto.graph.output):
        return None
    givers = {name: node for node in proto.graph.node for name in node.output}
    node, passed = givers.get(proto.graph.output[output].name), list[str]()
    while node is not None and node.op_type in (*HIDING, *MOVING):
        attributes = sorted(f"{one.name}={helper.get_attribute_value(one)!r}" for one in node.attribute)
        passed.append(f"{node.op_type}({', '.join(attributes)})")
        if node.op_type in HIDING:
            return tuple(passed), node.input[0]
        node = givers.get(node.input[0])
    return None
