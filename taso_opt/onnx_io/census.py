"""Counts the operators of a model, bodies of control flow included."""

from __future__ import annotations

from collections import Counter

from onnx import GraphProto, ModelProto

from taso_opt.onnx_io.scopes import bodies


def operator_counts(proto: ModelProto) -> dict[str, int]:
    """How many nodes of each operator a model has, by name; operators of other domains carry theirs (`com.x.Op`)."""
    counts: Counter[str] = Counter()
    stack: list[GraphProto] = [proto.graph]
    while stack:
        for node in stack.pop().node:
            counts[node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"] += 1
            stack.extend(bodies(node))
    return dict(sorted(counts.items()))
