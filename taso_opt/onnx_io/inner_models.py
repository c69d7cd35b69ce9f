"""The bodies of control flow as models of their own, to be rewritten like any other, and the way back.

What a body captures becomes an input, and a weight where it is one outside. All that is known of a value outside is
known of it inside: sizes that are no numbers there are open here. Nothing is believed of what a loop hands on from turn
to turn but what follows by induction: if the body gives its states the types that they have, they have them after any
number of turns.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from taso_opt.core.dims import Dim, Size, bind
from taso_opt.core.term import Const, Term
from taso_opt.core.types import TensorType
from taso_opt.onnx_io.elements import UNKNOWN, element_code
from taso_opt.onnx_io.inference import STANDARD
from taso_opt.onnx_io.model import Model
from taso_opt.onnx_io.scopes import all_names, bodies, captured_names, free_names, rename_all

COUNTER, GOES_ON = "int64", "bool"
"""The types of what a Loop hands to its body first: the number of the turn, and whether the one before wanted it."""

SIZE_PREFIX, NAME_PREFIX = "tasoopt_size_", "tasoopt_inner_"


@dataclass(frozen=True, eq=False)
class InnerModel:
    """A body as a model: the numbers of its node and of the body among those of the node, and of its open sizes.

    Of its inputs the first are a loop's states, behind `skipped` others; its outputs give them again, behind as many
    others as `shifted` says. `weights` are the constants of outer scopes that it holds copies of.
    """

    node: int
    number: int
    proto: ModelProto
    dims: Mapping[str, int]
    weights: frozenset[str]
    states: range = range(0)
    shifted: int = 0

    def keeps_types(self, model: Model) -> bool:
        """Whether the body, read, gives each state the type that it takes it to have."""
        types = {variable.name: variable.type for variable in model.graph.inputs}
        for at in self.states:
            wanted = types.get(self.proto.graph.input[at].name)
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
        graph = GraphProto()
        graph.CopyFrom(changed.graph)
        new = all_names(graph) - all_names(place.proto.graph)
        fresh = (f"{NAME_PREFIX}{number}" for number in range(len(taken) + len(new)))
        names = dict(zip(sorted(new), (name for name in fresh if name not in taken), strict=False))
        rename_all(graph, names)
        taken.update(names.values())
        weights = [tensor for tensor in graph.initializer if tensor.name not in place.weights]
        del body.node[:], body.initializer[:], body.value_info[:]
        body.node.extend(graph.node)
        body.initializer.extend(weights)
    _drop_unused(result.graph, frozenset[str]().union(*(place.weights for place, _ in inner)))
    return result


def _drop_unused(graph: GraphProto, weights: Container[str]) -> None:
    """Drop those of the weights that nothing uses and no caller may give."""
    used = {name for node in graph.node for name in (*node.input, *captured_names(node))}
    used.update(value.name for value in (*graph.input, *graph.output))
    for at in reversed(range(len(graph.initializer))):
        name = graph.initializer[at].name
        if name in weights and name not in used:
            del graph.initializer[at]


class _Stated:
    """Types as a file states them: each size that is no number under one name, with its number."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self._bindings, self._names = bindings, dict[Size, str]()

    @property
    def dims(self) -> dict[str, int]:
        """The numbers of the sizes by their names, as far as the bindings tell."""
        numbers = {name: bind(dim, self._bindings) for dim, name in self._names.items()}
        return {name: number for name, number in numbers.items() if isinstance(number, int) and number > 0}

    def value(self, name: str, kind: TensorType) -> ValueInfoProto:
        """A value of that name and type."""
        return helper.make_tensor_value_info(name, element_code(kind.dtype), [self._dim(dim) for dim in kind.shape])

    def _dim(self, dim: Dim) -> int | str:
        return dim if isinstance(dim, int) else self._names.setdefault(dim, f"{SIZE_PREFIX}{len(self._names)}")


def _inner_model(model: Model, at: int, number: int, body: GraphProto) -> InnerModel | None:
    node, terms = model.proto.graph.node[at], model.uses[at].operands
    names = captured_names(node)
    outside = dict(zip(names, terms[len(terms) - len(names) :], strict=True))
    captured = dict.fromkeys(free_names(body))
    formal = _formal_types(model, node, terms, body)
    if formal is None or len(formal) != len(body.input) or body.sparse_initializer:
        return None
    stated = _Stated(model.bindings)
    weights = {name: _weight(model, name, outside[name]) for name in captured}
    types = dict(zip((value.name for value in body.input), formal, strict=True))
    types.update((name, model.builder.types(outside[name])[0]) for name in captured if weights[name] is None)
    if any(kind.dtype == UNKNOWN for kind in types.values()):
        return None
    graph = GraphProto(name=body.name or "body", node=body.node, initializer=body.initializer, output=body.output)
    graph.input.extend(stated.value(name, kind) for name, kind in types.items())
    graph.initializer.extend(tensor for tensor in weights.values() if tensor is not None)
    held = frozenset(name for name, tensor in weights.items() if tensor is not None)
    proto = ModelProto(ir_version=model.proto.ir_version, opset_import=model.proto.opset_import, graph=graph)
    proto.functions.extend(model.proto.functions)
    skipped, states, shifted = _states(node)
    return InnerModel(at, number, proto, stated.dims, held, range(skipped, skipped + states), shifted)


def _weight(model: Model, name: str, term: Term) -> TensorProto | None:
    """The tensor of a constant outside under its name inside."""
    if not isinstance(term, Const) or model.builder.type(term).dtype not in ("float32", "float64", "int32", "int64"):
        return None
    return numpy_helper.from_array(model.constant(term.name), name)


def _states(node: NodeProto) -> tuple[int, int, int]:
    """How many inputs of a body precede its states, how many these are, and by how much earlier its outputs come."""
    if node.op_type == "Loop":
        return 2, len(node.input) - 2, 1
    if node.op_type == "Scan":
        return 0, len(node.input) - _scanned(node), 0
    return 0, 0, 0


def _formal_types(model: Model, node: NodeProto, terms: Sequence[Term], body: GraphProto) -> list[TensorType] | None:
    """The types of the inputs of a node's body, those of states as they are at first; None where one is not known."""
    given = iter(terms)
    types = [model.builder.types(next(given))[0] if name else None for name in node.input]
    if node.op_type == "If":
        return []
    if node.op_type == "Loop":
        first = [_number(dtype, value) for dtype, value in zip((COUNTER, GOES_ON), body.input, strict=False)]
        found = [*first, *types[2:]]
    elif node.op_type == "Scan" and not any(one.name == "scan_input_axes" for one in node.attribute):
        states = len(types) - _scanned(node)
        found = [*types[:states], *map(_element, types[states:])]
    else:
        return None
    return [kind for kind in found if kind is not None] if all(found) else None


def _number(dtype: str, stated: ValueInfoProto) -> TensorType:
    """The type of one number, which a runtime hands over with one axis to a body that states one."""
    return TensorType(dtype, (1,) * len(stated.type.tensor_type.shape.dim))


def _element(kind: TensorType | None) -> TensorType | None:
    """The type of what a Scan takes of a value in one turn."""
    return TensorType(kind.dtype, kind.shape[1:]) if kind is not None and kind.shape else None


def _scanned(node: NodeProto) -> int:
    return next(int(one.i) for one in node.attribute if one.name == "num_scan_inputs")
