"""How large the whole numbers are that a model takes: random ones have to be such as the model can be given.

What is looked up in a table names one of its rows. What is taken off 1, as the mask that tells words from padding is,
is 0 or 1: of other numbers a mask makes infinities, or words that count for more than all others.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import GraphProto, NodeProto, TensorProto, numpy_helper

from taso_opt.core.types import TensorType
from taso_opt.onnx_io.files.weights import constant_value
from taso_opt.onnx_io.scopes import STANDARD

LOOKING_UP = frozenset({"Gather", "GatherElements"})

MOVING = frozenset(
    {
        *("Cast", "Expand", "Flatten", "Gather", "Identity", "Reshape"),
        *("Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    }
)
"""The operators that give elements of their first operand, and no others."""

JOINING = frozenset({"Concat"})
"""And those that give elements of all of their operands."""

NUMBERS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64)

FLAGS = 2
"""The number of values that tell yes from no."""


def upper_bounds(graph: GraphProto, types: Mapping[str, TensorType]) -> dict[str, int]:
    """By the name of each value of which nodes tell it, the number that all of its numbers lie below, from 0 on.

    What a node says of its operand is followed back through what only moves numbers.
    """
    nodes = [node for node in graph.node if node.domain in STANDARD]
    made_by = {name: node for node in nodes for name in node.output}
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    ones = _ones(graph)
    found: dict[str, int] = {}
    for node in nodes:
        bound = FLAGS if _is_taken_off_one(node, ones) else _places(node, types, shapes)
        pending, seen = [] if bound is None else [node.input[1]], set[str]()
        while pending and bound is not None:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                found[name] = min(bound, found.get(name, bound))
                pending += _moved(made_by[name]) if name in made_by else []
    return found


def _places(node: NodeProto, types: Mapping[str, TensorType], shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """How many places a node may look up; None for other nodes and where nothing tells how many there are."""
    if len(node.input) < 2 or not (node.op_type in LOOKING_UP or _looks_up_rows(node, types)):
        return None
    table = node.input[0]
    shape = shapes.get(table) or (types[table].shape if table in types else ())
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    size = shape[axis] if -len(shape) <= axis < len(shape) else None
    return size if isinstance(size, int) and size > 0 else None


def _looks_up_rows(node: NodeProto, types: Mapping[str, TensorType]) -> bool:
    """Whether a node is a GatherND at places of the first axis alone."""
    indices = types.get(node.input[1])
    in_batches = any(attribute.name == "batch_dims" and attribute.i for attribute in node.attribute)
    return node.op_type == "GatherND" and not in_batches and indices is not None and indices.shape[-1:] == (1,)


def _ones(graph: GraphProto) -> frozenset[str]:
    """The names of constants of one element, which is 1."""
    stated = ((node.output[0], constant_value(node)) for node in graph.node if node.op_type == "Constant")
    tensors = [*((one.name, one) for one in graph.initializer), *stated]
    return frozenset(
        name
        for name, tensor in tensors
        if tensor is not None and not tensor.external_data and set(tensor.dims) <= {1} and _is_one(tensor)
    )


def _is_one(tensor: TensorProto) -> bool:
    return tensor.data_type in NUMBERS and numpy_helper.to_array(tensor).reshape(-1).tolist() == [1]


def _is_taken_off_one(node: NodeProto, ones: frozenset[str]) -> bool:
    return node.op_type == "Sub" and len(node.input) == 2 and node.input[0] in ones


def _moved(node: NodeProto) -> list[str]:
    """The operands of which a node gives elements and nothing else."""
    if node.op_type in JOINING:
        return list(node.input)
    return list(node.input[:1]) if node.op_type in MOVING else []
