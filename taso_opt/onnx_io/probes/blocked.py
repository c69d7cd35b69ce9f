"""Puts small models between other operators, and cuts them out again of what the runtime makes of that.

Runtimes compute convolutions on tensors whose channels stand in blocks, and convert between that layout and the plain
one where something else reads or writes a value. What a kernel costs inside a network is its cost without these
conversions; which layouts it reads and gives, only the runtime knows. It also knows which operators it fuses, and some
of its fusions spare what a model gives: so each result is put before an operator that uses it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from taso_opt.onnx_io.scopes import drop

BLOCKED, PLAIN = "b", "p"
TO_BLOCKED, FROM_BLOCKED = "ReorderInput", "ReorderOutput"
"""The runtime's operators that convert between layouts."""

DOMAIN = "com.microsoft.nchwc"
ADDED_TO = 3
"""The place among the inputs of the runtime's convolutions of what their result is added to."""

INNER_CHANNELS = 16
"""How many channels a convolution has on its other side: as many as every blocked layout divides."""

USER = "Abs"

OPSET, IR_VERSION = 13, 8


def put_between_convolutions(model: ModelProto) -> None:
    """Put a convolution before each input, whose result is an output too, so that nothing is fused into it.

    All inputs must be images: float32 of four axes.
    """
    graph = model.graph
    images = [(value.name, _shape(value)) for value in graph.input]
    del graph.input[:]
    convolutions = []
    for name, shape in images:
        convolutions.append(_convolution(graph.initializer, f"before_{name}", INNER_CHANNELS, name, shape[1]))
        graph.input.append(_image(f"before_{name}", [shape[0], INNER_CHANNELS, *shape[2:]]))
        graph.output.append(_image(name, shape))
    nodes = [*convolutions, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def put_before_users(model: ModelProto) -> None:
    """Let every output be used by an operator that no runtime fuses, whose result is given in its place."""
    given = list(model.graph.output)
    del model.graph.output[:]
    for value in given:
        used = f"{USER}_{value.name}"
        model.graph.node.append(helper.make_node(USER, [value.name], [used], name=used))
        model.graph.output.append(ValueInfoProto(name=used, type=value.type))


def cut_to_used(lowered: ModelProto) -> None:
    """Leave of a lowered model what its users use, as its outputs."""
    graph, starts = _Lowered(lowered), list(lowered.graph.input)
    ends = list(dict.fromkeys(graph.first_operand(value.name) for value in lowered.graph.output))
    nodes, _ = graph.needed(ends, {value.name for value in starts})
    graph.reduce(nodes, starts, ends)


def cut_to_core(lowered: ModelProto, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Leave of a lowered model what stands between the convolutions, given the inputs and outputs that it had before.

    Answers in which layouts it reads and gives them: a letter for each input, '>', and a letter for each output, b for
    blocked and p for plain.
    """
    graph = _Lowered(lowered)
    given = {name: graph.blocked_source(name) for name in inputs}
    sources = {source for source in given.values() if source is not None}
    found = {name: graph.blocked_source(name) for name in outputs}
    ends = [source if source is not None and source not in sources else name for name, source in found.items()]
    nodes, reached = graph.needed(ends, {*given, *sources})
    starts = [graph.image(name, source) for name, source in given.items() if source in reached]
    starts += [graph.image(name, None) for name in given if name in reached]
    reads = "".join(BLOCKED if source in reached else PLAIN for source in given.values())
    gives = "".join(PLAIN if end == name else BLOCKED for name, end in zip(found, ends, strict=True))
    graph.reduce(nodes, starts, ends)
    return f"{reads}>{gives}"


def overwritten(core: ModelProto) -> tuple[str, str] | None:
    """The input of a core that a convolution adds its result to, and that result; None where none does so.

    Inside of a network the runtime writes such a result over that operand.
    """
    given, wanted = ([value.name for value in values] for values in (core.graph.input, core.graph.output))
    for node in core.graph.node:
        adds = node.domain == DOMAIN and node.op_type == "Conv" and len(node.input) > ADDED_TO
        if adds and node.input[ADDED_TO] in given and wanted == list(node.output):
            return node.input[ADDED_TO], node.output[0]
    return None


def conversion_model(shape: Sequence[int], to_blocked: bool) -> bytes:
    """A convolution of which the runtime converts one side, of that shape: what it reads, or else what it gives."""
    batch, channels, *area = shape
    reads, gives = (channels, INNER_CHANNELS) if to_blocked else (INNER_CHANNELS, channels)
    images = _image("i0", [batch, reads, *area]), _image("o0", [batch, gives, *area])
    graph = helper.make_graph([], "conversion", images[:1], images[1:])
    graph.node.append(_convolution(graph.initializer, "i0", reads, "o0", gives))
    opsets = [helper.make_opsetid("", OPSET)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())


def cut_to_conversions(lowered: ModelProto, kind: str) -> bool:
    """Leave of a lowered `conversion_model` all conversions in one direction; whether there is any."""
    graph = _Lowered(lowered)
    nodes = graph.conversions(kind)
    starts = [graph.input(node) if kind == TO_BLOCKED else graph.image(node.output[0], node.input[0]) for node in nodes]
    graph.reduce(nodes, starts, [node.output[0] for node in nodes])
    return bool(nodes)


class _Lowered:
    """A model as the runtime executes it, indexed by what computes a value."""

    def __init__(self, model: ModelProto) -> None:
        self._graph = graph = model.graph
        self._producer = {name: node for node in graph.node for name in node.output}
        self._filters = {tensor.name: tensor for tensor in graph.initializer}
        self._declared = {value.name: value for value in (*graph.input, *graph.output)}

    def conversions(self, kind: str) -> list[NodeProto]:
        """The nodes that convert in one direction."""
        return [node for node in self._graph.node if node.domain == DOMAIN and node.op_type == kind]

    def first_operand(self, name: str) -> str:
        """What the node that computes a value reads first."""
        return str(self._producer[name].input[0])

    def blocked_source(self, name: str) -> str | None:
        """The blocked value that a plain one is converted from, None where it is computed as it is."""
        node = self._producer.get(name)
        converted = node is not None and node.domain == DOMAIN and node.op_type == FROM_BLOCKED
        return str(node.input[0]) if node is not None and converted else None

    def needed(self, ends: Sequence[str], starts: Collection[str]) -> tuple[list[NodeProto], set[str]]:
        """The nodes that compute the ends from the starts, in order, and the starts that they read."""
        used: set[str] = set()
        reached: set[str] = set()
        stack = list(ends)
        while stack:
            name = stack.pop()
            node = self._producer.get(name)
            if name in starts:
                reached.add(name)
            elif node is not None and node.output[0] not in used:
                used.add(node.output[0])
                stack.extend(node.input)
        return [node for node in self._graph.node if node.output[0] in used], reached

    def input(self, node: NodeProto) -> ValueInfoProto:
        """The graph input that a node reads first."""
        found: ValueInfoProto = self._declared[node.input[0]]
        return found

    def image(self, name: str, source: str | None) -> ValueInfoProto:
        """An image that a convolution gives, or the blocked value that it is converted from, with blocks filled up."""
        shape = _shape(self._declared[name])
        if source is None:
            return _image(name, shape)
        filters = self._filters[self._producer[source].input[1]]
        return _image(source, [shape[0], filters.dims[0], *shape[2:]])

    def reduce(self, nodes: Sequence[NodeProto], starts: Sequence[ValueInfoProto], ends: Sequence[str]) -> None:
        """Leave these nodes, inputs and outputs only; what else of weights there is, nobody copies."""
        graph, read = self._graph, {name for node in nodes for name in node.input}
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ends]
        del graph.node[:], graph.input[:], graph.output[:], graph.value_info[:]
        graph.node.extend(nodes)
        graph.input.extend(starts)
        graph.output.extend(values)
        drop(graph.initializer, lambda tensor: tensor.name not in read)


def _convolution(initializers: object, source: str, reads: int, target: str, gives: int) -> NodeProto:
    filters = np.full((gives, reads, 1, 1), 1 / reads, np.float32)
    initializers.append(numpy_helper.from_array(filters, f"filters_{target}"))  # type: ignore[attr-defined]
    return helper.make_node("Conv", [source, f"filters_{target}"], [target], name=target)


def _image(name: str, shape: Sequence[int]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _shape(value: ValueInfoProto) -> list[int]:
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]
