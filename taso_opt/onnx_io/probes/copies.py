"""Puts copies of a model into one, so that one run takes long enough to be timed."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

from onnx import GraphProto, ModelProto, TensorProto, helper

SHAPE = "shape"
"""The only output of a chain of copies."""


def repeat(model: ModelProto, copies: int, turns: int = 1) -> None:
    """Add to a model, in place, what makes it so many copies, each with inputs, weights and outputs of its own.

    Of several `turns` each has them all once more, on other inputs but with the same weights. Names of the first copy
    stay; no node may have a graph of its own.
    """
    first = GraphProto()
    first.CopyFrom(model.graph)
    for copy in range(1, copies):
        model.graph.MergeFrom(_renamed(first, f"_copy{copy}"))
    if turns > 1:
        _read_again(model.graph, turns)


def _read_again(graph: GraphProto, turns: int) -> None:
    """Add all nodes of a graph to it, in place, so many times in all, each time on other inputs."""
    once = GraphProto()
    once.CopyFrom(graph)
    weights = {tensor.name for tensor in graph.initializer}
    del once.initializer[:]
    for turn in range(1, turns):
        graph.MergeFrom(_renamed(once, f"_turn{turn}", weights))


def chain(model: ModelProto, copies: int, operand: str, result: str) -> None:
    """Make of a model, in place, so many copies in a row: each has the result of the one before for an operand.

    The operand is an input and the result the only output, of the same shape. Nobody is given a result: so a runtime
    may write each over its operand, but for that of the first copy, which is the caller's. Names are as `repeat` has
    them.
    """
    repeat(model, copies)
    graph = model.graph
    results = [value.name for value in graph.output]
    before = {operand + this.removeprefix(result): last for last, this in pairwise(results)}
    inputs = [value for value in graph.input if value.name not in before]
    for node in graph.node:
        node.input[:] = [before.get(name, name) for name in node.input]
    graph.node.append(helper.make_node("Shape", [results[-1]], [SHAPE], name=SHAPE))
    del graph.input[:], graph.output[:]
    graph.input.extend(inputs)
    graph.output.append(helper.make_tensor_value_info(SHAPE, TensorProto.INT64, None))


def _renamed(graph: GraphProto, suffix: str, shared: Container[str] = ()) -> GraphProto:
    """The same graph, its values called otherwise but for shared ones; an operand that is left out has no name."""
    renamed = GraphProto()
    renamed.CopyFrom(graph)
    for value in (*renamed.input, *renamed.output, *renamed.value_info, *renamed.initializer):
        value.name += suffix
    for node in renamed.node:
        node.name = node.name and node.name + suffix
        node.input[:] = [name if name in shared else name and name + suffix for name in node.input]
        node.output[:] = [name and name + suffix for name in node.output]
    return renamed
