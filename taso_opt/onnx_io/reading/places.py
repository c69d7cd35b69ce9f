"""How many places there are of those that the inputs of a model name: random ones have to lie among them."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import GraphProto, NodeProto

from taso_opt.core.types import TensorType

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


def places_named(graph: GraphProto, types: Mapping[str, TensorType]) -> dict[str, int]:
    """By the name of each value that names places of axes with known sizes, the least of these sizes.

    A place on the way from an input to a lookup is followed through what only moves it.
    """
    made_by = {name: node for node in graph.node for name in node.output}
    sizes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    found: dict[str, int] = {}
    for node in graph.node:
        size = _axis_size(node, types, sizes)
        if size is None:
            continue
        pending, seen = [node.input[1]], set[str]()
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                found[name] = min(size, found.get(name, size))
                pending += _moved(made_by[name]) if name in made_by else []
    return found


def _axis_size(node: NodeProto, types: Mapping[str, TensorType], sizes: Mapping[str, tuple[int, ...]]) -> int | None:
    """The size of the axis along which a node looks up places; None for other nodes and where it is no number."""
    if len(node.input) < 2 or not (node.op_type in LOOKING_UP or _looks_up_rows(node, types)):
        return None
    table = node.input[0]
    shape = sizes.get(table) or (types[table].shape if table in types else ())
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    size = shape[axis] if -len(shape) <= axis < len(shape) else None
    return size if isinstance(size, int) and size > 0 else None


def _looks_up_rows(node: NodeProto, types: Mapping[str, TensorType]) -> bool:
    """Whether a node is a GatherND at places of the first axis alone."""
    indices = types.get(node.input[1])
    in_batches = any(attribute.name == "batch_dims" and attribute.i for attribute in node.attribute)
    return node.op_type == "GatherND" and not in_batches and indices is not None and indices.shape[-1:] == (1,)


def _moved(node: NodeProto) -> list[str]:
    """The operands of which a node gives elements and nothing else."""
    if node.op_type in JOINING:
        return list(node.input)
    return list(node.input[:1]) if node.op_type in MOVING else []
