"""Which names an ONNX graph defines, uses and captures, across the bodies of If, Loop and Scan."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from taso_opt.errors import InvalidInputError

STANDARD = ("", "ai.onnx")
"""The names of the domain of ONNX's own operators."""


def opset_of(proto: ModelProto) -> int:
    """The version of ONNX's own operators that a model imports; 0 when it imports none."""
    return max((int(entry.version) for entry in proto.opset_import if entry.domain in STANDARD), default=0)


def bodies(node: NodeProto) -> list[GraphProto]:
    """The graphs that a node carries in its attributes."""
    return _carried(node.attribute)


def _carried(attributes: Iterable[AttributeProto]) -> list[GraphProto]:
    found = []
    for attribute in attributes:
        if attribute.HasField("g"):
            found.append(attribute.g)
        found.extend(attribute.graphs)
    return found


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and the bodies of its nodes at any depth, each before those in it."""
    yield graph
    for node in graph.node:
        for body in bodies(node):
            yield from graphs_of(body)


def nested_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes and those of their bodies at any depth, each before those in it."""
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from nested_nodes(body.node)


def nodes_of(model: ModelProto) -> Iterator[NodeProto]:
    """All nodes of a model, those of bodies and local functions included."""
    yield from nested_nodes(model.graph.node)
    for function in model.functions:
        yield from function_nodes(function)


def function_nodes(function: FunctionProto) -> Iterator[NodeProto]:
    """All nodes of a local function, those of bodies and of the graphs that its attributes are by default included."""
    yield from nested_nodes(function.node)
    for graph in _carried(function.attribute_proto):
        yield from nested_nodes(graph.node)


def initializer_names(graph: GraphProto) -> list[str]:
    """The names of all initializers, dense and sparse."""
    return [tensor.name for tensor in graph.initializer] + [sparse.values.name for sparse in graph.sparse_initializer]


def captured_names(node: NodeProto) -> tuple[str, ...]:
    """The values of outer scopes that the bodies of a node use, each once, in order of first use."""
    return tuple(dict.fromkeys(name for body in bodies(node) for name in free_names(body)))


def used_names(node: NodeProto) -> list[str]:
    """The values that a node is given, and those that its bodies capture, in order."""
    return [*(name for name in node.input if name), *captured_names(node)]


def free_names(graph: GraphProto) -> list[str]:
    """The values of outer scopes that a body uses, as often as it does."""
    defined = set(defined_names(graph))
    used = [name for node in graph.node for name in used_names(node)]
    used.extend(value.name for value in graph.output)
    return [name for name in used if name not in defined]


def defined_names(graph: GraphProto) -> list[str]:
    """The values that a body defines itself: its inputs, its initializers and what its nodes give."""
    given = [name for node in graph.node for name in node.output if name]
    return [*(value.name for value in graph.input), *initializer_names(graph), *given]


def rename_captures(node: NodeProto, names: Mapping[str, str], fresh: Iterator[str]) -> None:
    """Rename outer values inside the bodies of a node.

    What a body defines itself under one of the new names, which then would hide the outer value, gets a fresh one.
    """
    for body in bodies(node):
        free = set(free_names(body))
        here = {old: new for old, new in names.items() if old in free}
        if not here:
            continue
        hiding = [name for name in dict.fromkeys(defined_names(body)) if name in here.values()]
        moved = dict(zip(hiding, fresh, strict=False))
        tensors = (*body.initializer, *(sparse.values for sparse in body.sparse_initializer))
        for value in (*body.input, *body.value_info, *tensors):
            value.name = moved.get(value.name, value.name)
        here |= moved
        for inner in body.node:
            inner.input[:] = [here.get(name, name) for name in inner.input]
            inner.output[:] = [moved.get(name, name) for name in inner.output]
            rename_captures(inner, here, fresh)
        for value in body.output:
            value.name = here.get(value.name, value.name)


def rename_all(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Rename values and nodes in a graph and in its bodies, wherever they stand."""
    values = (*graph.input, *graph.output, *graph.value_info)
    tensors = (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer))
    for named in (*values, *tensors, *graph.node):
        if named.name in names:
            named.name = names[named.name]
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for body in bodies(node):
            rename_all(body, names)


def names_in_bodies(node: NodeProto) -> set[str]:
    """Every name of a value or a node in the bodies that a node carries, at any depth."""
    return {name for body in bodies(node) for name in all_names(body)}


def all_names(graph: GraphProto) -> set[str]:
    """Every name of a value or a node in a graph and in its bodies."""
    names = {value.name for value in (*graph.input, *graph.output, *graph.value_info)}
    names.update(initializer_names(graph))
    for node in graph.node:
        names.add(node.name)
        names.update(node.input)
        names.update(node.output)
        for body in bodies(node):
            names |= all_names(body)
    return names


def all_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor stored anywhere in a model: initializers and attributes, in bodies, functions and their defaults."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)
        yield from _attribute_tensors(function.attribute_proto)
    for training in model.training_info:
        yield from _graph_tensors(training.initialization)
        yield from _graph_tensors(training.algorithm)


def _graph_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        yield from _attribute_tensors(node.attribute)


def _attribute_tensors(attributes: Iterable[AttributeProto]) -> Iterator[TensorProto]:
    """The tensors that attributes hold, those of a node or the defaults of a function."""
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
        for one in (*sparse, *attribute.sparse_tensors):
            yield from (one.values, one.indices)
    for graph in _carried(attributes):
        yield from _graph_tensors(graph)


def drop(entries: Any, is_dropped: Callable[[Any], bool]) -> None:
    """Delete some entries of a repeated field, in place, without copies of the others."""
    for at in reversed(range(len(entries))):
        if is_dropped(entries[at]):
            del entries[at]


def topological_order(graph: GraphProto) -> list[int]:
    """The numbers of the nodes so that each stands behind what it uses, otherwise as in the file.

    Raises InvalidInputError when the nodes depend on each other in a cycle. Names that nothing defines are ignored.
    """
    producer = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    waiting: list[int] = []
    consumers: dict[int, list[int]] = defaultdict(list)
    for at, node in enumerate(graph.node):
        needed = {producer[name] for name in used_names(node) if name in producer}
        waiting.append(len(needed))
        for before in needed:
            consumers[before].append(at)
    ready = [at for at, missing in enumerate(waiting) if not missing]
    order: list[int] = []
    while ready:
        at = heapq.heappop(ready)
        order.append(at)
        for after in consumers[at]:
            waiting[after] -= 1
            if not waiting[after]:
                heapq.heappush(ready, after)
    if len(order) < len(graph.node):
        stuck = next(node.name or node.op_type for node, missing in zip(graph.node, waiting, strict=True) if missing)
        raise InvalidInputError(f"expected a graph without cycles, found one through node {stuck!r}")
    return order


def sort_nodes(graph: GraphProto) -> None:
    """Bring the nodes of a graph and of its bodies into topological order, in place."""
    for node in graph.node:
        for body in bodies(node):
            sort_nodes(body)
    order = topological_order(graph)
    if order != sorted(order):
        nodes = [NodeProto() for _ in order]
        for node, at in zip(nodes, order, strict=True):
            node.CopyFrom(graph.node[at])
        del graph.node[:]
        graph.node.extend(nodes)
