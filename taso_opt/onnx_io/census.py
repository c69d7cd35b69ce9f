"""What a model consists of, bodies of control flow included: its operators, and whether single floats are among it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from taso_opt.onnx_io.scopes import all_tensors, bodies

SINGLES = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})
"""Floats of at most single precision that operators compute in."""
ROUNDING = frozenset({"DynamicQuantizeLinear", "QuantizeLinear"})


def operator_counts(proto: ModelProto) -> dict[str, int]:
    """How many nodes of each operator a model has, by name; operators of other domains carry theirs (`com.x.Op`)."""
    counts: Counter[str] = Counter()
    stack: list[GraphProto] = [proto.graph]
    while stack:
        for node in stack.pop().node:
            counts[node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"] += 1
            stack.extend(bodies(node))
    return dict(sorted(counts.items()))


def computes_in_singles(proto: ModelProto) -> bool:
    """Whether a model computes in floats of single precision or less anywhere, so that doubles are no more exact."""
    inputs = (value.type.tensor_type.elem_type for value in proto.graph.input)
    if any(code in SINGLES for code in inputs) or any(one.data_type in SINGLES for one in all_tensors(proto)):
        return True
    return any(
        node.op_type == "Cast" and any(one.name == "to" and one.i in SINGLES for one in node.attribute)
        for node in _nodes(proto)
    )


def rounds_to_integers(proto: ModelProto) -> bool:
    """Whether a model quantizes what it computes: a rounding error before that may become a whole step after it."""
    return any(node.op_type in ROUNDING for node in _nodes(proto))


def _nodes(proto: ModelProto) -> Iterator[NodeProto]:
    """All nodes, those of bodies and local functions included."""
    stack = [*proto.graph.node, *(node for function in proto.functions for node in function.node)]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(inner for body in bodies(node) for inner in body.node)
