"""Puts independent copies of a model into one, so that one run takes long enough to be timed."""

from __future__ import annotations

from onnx import GraphProto, ModelProto


def repeat(model: ModelProto, copies: int) -> None:
    """Add to a model, in place, what makes it so many copies, each with inputs, weights and outputs of its own.

    Names of the first copy stay; no node may have a graph of its own.
    """
    first = GraphProto()
    first.CopyFrom(model.graph)
    for copy in range(1, copies):
        model.graph.MergeFrom(_renamed(first, f"_copy{copy}"))


def _renamed(graph: GraphProto, suffix: str) -> GraphProto:
    """The same graph, its values called otherwise; an operand that is left out has no name."""
    renamed = GraphProto()
    renamed.CopyFrom(graph)
    for value in (*renamed.input, *renamed.output, *renamed.value_info, *renamed.initializer):
        value.name += suffix
    for node in renamed.node:
        node.name = node.name and node.name + suffix
        node.input[:] = [name and name + suffix for name in node.input]
        node.output[:] = [name and name + suffix for name in node.output]
    return renamed
