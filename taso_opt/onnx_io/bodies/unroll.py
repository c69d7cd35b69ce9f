"""Loops of a known number of turns, written out turn by turn: by the definition of Loop and Scan, without a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from taso_opt.core.term import Const, Term
from taso_opt.onnx_io.bodies.excerpt import Excerpt, drop_unused, excerpt, put_back
from taso_opt.onnx_io.bodies.turns import shape_of_one, turns_of
from taso_opt.onnx_io.elements import UNKNOWN, element_code
from taso_opt.onnx_io.files.weights import constant_value
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.references.randomness import RANDOM
from taso_opt.onnx_io.scopes import STANDARD, all_names, bodies, initializer_names, rename_all, used_names
from taso_opt.spec.operator import Array

MOST_TURNS, MOST_NODES = 256, 2000
"""Of a loop that is written out."""

FIRST_OPSET = 13
"""Before it, Unsqueeze had its axes as an attribute."""


@dataclass(frozen=True, eq=False)
class LoopModel:
    """A Loop or Scan as a model, the number of its node, its turns, and the model with these written out."""

    part: Excerpt
    node: int
    turns: int
    unrolled: ModelProto


def loop_models(model: Model) -> Iterator[LoopModel]:
    """The loops of a model that turn a known number of times, in order; those in bodies are found in the bodies."""
    for at in model.order if model.opset >= FIRST_OPSET else ():
        node = model.proto.graph.node[at]
        if node.domain in STANDARD and node.op_type in ("Loop", "Scan"):
            found = _loop_model(model, at, node)
            if found is not None:
                yield found


def with_loop_models(proto: ModelProto, loops: Sequence[tuple[LoopModel, ModelProto]]) -> ModelProto:
    """A copy of a model in which these models stand for its loops, from which they were made."""
    result = ModelProto()
    result.CopyFrom(proto)
    changed = {loop.node: (loop, made) for loop, made in loops}
    for at in sorted(changed, reverse=True):
        del result.graph.node[at]
    taken = all_names(result.graph)
    del result.graph.node[:]
    for at, node in enumerate(proto.graph.node):
        if at not in changed:
            result.graph.node.append(node)
            continue
        loop, made = changed[at]
        known = {*node.output, *used_names(node)}
        graph = put_back(made.graph, known, taken, loop.part.weights)
        result.graph.node.extend(graph.node)
        result.graph.initializer.extend(graph.initializer)
    drop_unused(result.graph, frozenset[str]().union(*(loop.part.weights for loop, _ in loops)))
    return result


def _loop_model(model: Model, at: int, node: NodeProto) -> LoopModel | None:
    (body,) = bodies(node)
    outside = dict(zip(used_names(node), model.uses[at].operands, strict=True))
    turns = _turns(model, node, body, outside)
    if turns is None or not 0 < turns <= MOST_TURNS or turns * len(body.node) > MOST_NODES or not _is_plain(body):
        return None
    outputs = [_output(model, *pair) for pair in zip(node.output, model.uses[at].results, strict=True) if pair[0]]
    part = excerpt(model, GraphProto(name="loop", node=[node], output=outputs), {}, outside)
    if part is None:
        return None
    unrolled = ModelProto()
    unrolled.CopyFrom(part.proto)
    del unrolled.graph.node[:]
    _Unrolled(unrolled.graph, node, body).write(turns)
    return LoopModel(part, at, turns, unrolled)


def _is_plain(graph: GraphProto) -> bool:
    """Whether a body does in each turn what it would do alone: it draws no random numbers, and all of it is ONNX's."""
    return not graph.sparse_initializer and all(
        node.domain in STANDARD and node.op_type not in RANDOM and all(map(_is_plain, bodies(node)))
        for node in graph.node
    )


def _output(model: Model, name: str, term: Term | None) -> ValueInfoProto:
    kind = None if term is None else model.builder.types(term)[0]
    if kind is None or kind.dtype == UNKNOWN:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, element_code(kind.dtype), None)


def _turns(model: Model, node: NodeProto, body: GraphProto, outside: Mapping[str, Term]) -> int | None:
    """How often a loop turns; None where that is not known or the loop goes in an unusual way."""
    if node.op_type == "Loop":
        limit, asks = (*node.input[:2], "", "")[:2]
        most, begins = (_value(model, outside.get(name)) for name in (limit, asks))
        is_begun = not asks or (begins is not None and bool(begins.all()))
        return int(most.item()) if most is not None and most.size == 1 and is_begun and _goes_on(body) else None
    if any(any(attribute.ints) for attribute in node.attribute):  # backwards, or along other axes than the first
        return None
    scanned = outside[node.input[-1]]
    (size, *_) = (*model.builder.types(scanned)[0].shape, None)
    return size if isinstance(size, int) else None


def _value(model: Model, term: Term | None) -> Array | None:
    """The value of a constant."""
    return model.constant(term.name) if isinstance(term, Const) else None


def _goes_on(body: GraphProto) -> bool:
    """Whether a Loop's body asks for another turn whatever it computes."""
    producers = {name: node for node in body.node for name in node.output}
    tensors = {tensor.name: tensor for tensor in body.initializer}
    name = body.output[0].name
    while name in producers and producers[name].op_type == "Identity":
        name = producers[name].input[0]
    if name in tensors:
        return bool(numpy_helper.to_array(tensors[name]).all())
    constant = constant_value(producers[name]) if name in producers else None
    return name == body.input[1].name if constant is None else bool(numpy_helper.to_array(constant).all())


class _Unrolled:
    """Writes a loop's turns into a graph, each under names of its own."""

    def __init__(self, graph: GraphProto, node: NodeProto, body: GraphProto) -> None:
        self._graph, self._node, self._body = graph, node, body
        self._turns = turns_of(node)
        self._inner = [name for inner in body.node for name in inner.output if name]

    def write(self, turns: int) -> None:
        """Add the nodes of all turns, and what gathers their results."""
        self._graph.initializer.extend(self._body.initializer)
        first, count = self._turns.first, self._turns.states
        states = list(self._node.input[first : first + count])
        gathered: list[list[str]] = []
        for turn in range(turns):
            names = self._formal_names(turn, states)
            names.update((name, f"{name}/turn{turn}") for name in self._inner)
            self._write_turn(names)
            results = [names.get(value.name, value.name) for value in self._body.output[self._turns.asking :]]
            states = results[:count]
            gathered.append(results[count:])
        self._write_outputs(states, gathered)

    def _formal_names(self, turn: int, states: Sequence[str]) -> dict[str, str]:
        """What the inputs of the body are called in a turn."""
        formal = [value.name for value in self._body.input]
        numbers = zip((np.int64(turn), np.True_), self._body.input[: self._turns.first], strict=False)
        first = [
            self._constant(f"{value.name}/turn{turn}", np.full(shape_of_one(value), number))
            for number, value in numbers
        ]
        scanned = self._node.input[len(self._node.input) - self._turns.scanned :]
        taken = formal[len(formal) - self._turns.scanned :]
        rows = [self._row(name, inner, turn) for name, inner in zip(scanned, taken, strict=True)]
        return dict(zip(formal, [*first, *states, *rows], strict=True))

    def _row(self, name: str, formal: str, turn: int) -> str:
        """What a Scan takes of a value in a turn."""
        row = f"{formal}/turn{turn}"
        place = self._constant(f"{row}/place", np.array(turn, np.int64))
        self._graph.node.append(helper.make_node("Gather", [name, place], [row], axis=0))
        return row

    def _write_turn(self, names: Mapping[str, str]) -> None:
        turn = GraphProto(node=self._body.node)
        rename_all(turn, names)
        for node in turn.node:
            node.name = ""
        self._graph.node.extend(turn.node)

    def _write_outputs(self, states: Sequence[str], gathered: Sequence[Sequence[str]]) -> None:
        """Give the last states, and of each other result those of all turns in a row, the names of the outputs."""
        for state, output in zip(states, self._node.output, strict=False):
            if output:
                self._graph.node.append(helper.make_node("Identity", [state], [output]))
        for results, output in zip(zip(*gathered, strict=True), self._node.output[self._turns.states :], strict=False):
            if output:
                axis = self._constant(f"{output}/axis", np.array([0], np.int64))
                rows = [f"{output}/row{turn}" for turn in range(len(results))]
                for result, row in zip(results, rows, strict=True):
                    self._graph.node.append(helper.make_node("Unsqueeze", [result, axis], [row]))
                self._graph.node.append(helper.make_node("Concat", rows, [output], axis=0))

    def _constant(self, name: str, value: Array) -> str:
        if name not in initializer_names(self._graph):
            self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name
