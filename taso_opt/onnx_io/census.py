"""What a model consists of, bodies of control flow included: its operators, and whether single floats are among it."""

from __future__ import annotations

from collections import Counter

from onnx import ModelProto, TensorProto

from taso_opt.onnx_io.scopes import STANDARD, all_tensors, nested_nodes, nodes_of

SINGLES = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})
"""Floats of at most single precision that operators compute in."""
ROUNDING = frozenset({"DynamicQuantizeLinear", "QuantizeLinear"})


def operator_counts(proto: ModelProto) -> dict[str, int]:
    """How many nodes of each operator a model has, by name; operators of other domains carry theirs (`com.x.Op`)."""
    nodes = nested_nodes(proto.graph.node)
    counts = Counter(node.op_type if node.domain in STANDARD else f"{node.domain}.{node.op_type}" for node in nodes)
    return dict(sorted(counts.items()))


def computes_in_singles(proto: ModelProto) -> bool:
    """Whether a model computes in floats of single precision or less anywhere, so that doubles are no more exact."""
    inputs = (value.type.tensor_type.elem_type for value in proto.graph.input)
    if any(code in SINGLES for code in inputs) or any(one.data_type in SINGLES for one in all_tensors(proto)):
        return True
    return any(
        node.op_type == "Cast" and any(one.name == "to" and one.i in SINGLES for one in node.attribute)
        for node in nodes_of(proto)
    )


def rounds_to_integers(proto: ModelProto) -> bool:
    """Whether a model quantizes what it computes: a rounding error before that may become a whole step after it."""
    return any(node.op_type in ROUNDING for node in nodes_of(proto))
