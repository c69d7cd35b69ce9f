"""The bodies of control flow as models of their own, and the way back (see `excerpt`).

Nothing is believed of what a loop hands on from turn to turn but what follows by induction: if the body gives its
states the types that they have, they have them after any number of turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto

from taso_opt.core.term import Term
from taso_opt.core.types import TensorType
from taso_opt.onnx_io.bodies.excerpt import Excerpt, drop_unused, excerpt, put_back
from taso_opt.onnx_io.bodies.turns import shape_of_one, turns_of
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.scopes import STANDARD, all_names, bodies, captured_names, free_names

COUNTER, GOES_ON = "int64", "bool"
"""The types of what a Loop hands to its body first: the number of the turn, and whether the one before wanted it."""


@dataclass(frozen=True, eq=False)
class InnerModel:
    """A body as a model: the numbers of its node and of the body among those of the node.

    Some of its inputs are a loop's `states`, which its outputs give again, as many places earlier as `shifted` says.
    """

    part: Excerpt
    node: int
    number: int
    states: range = range(0)
    shifted: int = 0

    def keeps_types(self, model: Model) -> bool:
        """Whether the body, read, gives each state the type that it takes it to have."""
        types = {variable.name: variable.type for variable in model.graph.inputs}
        for at in self.states:
            wanted = types.get(self.part.proto.graph.input[at].name)
            if wanted is not None and model.builder.types(model.graph.outputs[at - self.shifted]) != (wanted,):
                return False
        return True


def inner_models(model: Model) -> Iterator[InnerModel]:
    """The bodies of a model's nodes, in order, as far as the types of all that enters them are known.

    Those of nodes in bodies are found in the models of these.
    """
    for at in model.order:
        node = model.proto.graph.node[at]
        if node.domain not in STANDARD:
            continue
        for number, body in enumerate(bodies(node)):
            found = _inner_model(model, at, number, body)
            if found is not None:
                yield found


def with_inner_models(proto: ModelProto, inner: Sequence[tuple[InnerModel, ModelProto]]) -> ModelProto:
    """A copy of a model in which bodies compute as these models do, which were made from theirs.

    Weights outside that only they used go.
    """
    result = ModelProto()
    result.CopyFrom(proto)
    taken = all_names(result.graph)
    for place, changed in inner:
        body = bodies(result.graph.node[place.node])[place.number]
        graph = put_back(changed.graph, all_names(place.part.proto.graph), taken, place.part.weights)
        del body.node[:], body.initializer[:], body.value_info[:]
        body.node.extend(graph.node)
        body.initializer.extend(graph.initializer)
    drop_unused(result.graph, frozenset[str]().union(*(place.part.weights for place, _ in inner)))
    return result


def _inner_model(model: Model, at: int, number: int, body: GraphProto) -> InnerModel | None:
    node, terms = model.proto.graph.node[at], model.uses[at].operands
    names = captured_names(node)
    outside = dict(zip(names, terms[len(terms) - len(names) :], strict=True))
    formal = _formal_types(model, node, terms, body)
    if formal is None or len(formal) != len(body.input) or body.sparse_initializer:
        return None
    graph = GraphProto(name=body.name or "body", node=body.node, initializer=body.initializer, output=body.output)
    types = dict(zip((value.name for value in body.input), formal, strict=True))
    part = excerpt(model, graph, types, {name: outside[name] for name in free_names(body)})
    turns = turns_of(node)
    states = range(turns.first, turns.first + turns.states)
    return None if part is None else InnerModel(part, at, number, states, turns.first - turns.asking)


def _formal_types(model: Model, node: NodeProto, terms: Sequence[Term], body: GraphProto) -> list[TensorType] | None:
    """The types of the inputs of a node's body, those of states as they are at first; None where one is not known."""
    given = iter(terms)
    types = [model.builder.types(next(given))[0] if name else None for name in node.input]
    if node.op_type == "If":
        return []
    if node.op_type == "Loop":
        numbers = zip((COUNTER, GOES_ON), body.input, strict=False)
        first = [TensorType(dtype, shape_of_one(value)) for dtype, value in numbers]
        found = [*first, *types[2:]]
    elif node.op_type == "Scan" and not any(one.name == "scan_input_axes" for one in node.attribute):
        states = turns_of(node).states
        found = [*types[:states], *map(_element, types[states:])]
    else:
        return None
    return [kind for kind in found if kind is not None] if all(found) else None


def _element(kind: TensorType | None) -> TensorType | None:
    """The type of what a Scan takes of a value in one turn."""
    return TensorType(kind.dtype, kind.shape[1:]) if kind is not None and kind.shape else None
