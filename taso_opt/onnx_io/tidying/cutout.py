"""Cuts the nodes that no specification covers out of a model: what is left runs where the whole cannot."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto, helper

from taso_opt.core.term import OPAQUE, Apply, Item, Term
from taso_opt.core.types import TensorType
from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io.elements import UNKNOWN, element_code
from taso_opt.onnx_io.reading.model import Model, ModelInput
from taso_opt.onnx_io.scopes import STANDARD, bodies, captured_names, nodes_of, rename_captures, used_names
from taso_opt.spec.operator import Array

PREFIX = "tasoopt_cut_"
"""What the outputs that stand for operands of a cut node are called."""

ONNX_DOMAINS = frozenset({*STANDARD, "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training"})


@dataclass(frozen=True, eq=False)
class Cutout:
    """A way to cut a model, and every rewritten form of it, so that the pieces can be compared output by output.

    Nodes that no specification covers are taken out. What they give becomes `inputs`, beside those of the model that
    are still used; what they are given becomes outputs behind those of the model that are still computed. If two models
    agree on all outputs for all inputs of the cut, and the nodes taken out are the same, the models are the same.
    `names` says which value of the original each output is.
    """

    inputs: tuple[ModelInput, ...]
    names: tuple[str, ...]
    infos: tuple[ValueInfoProto, ...]
    nodes: Mapping[tuple[str, ...], tuple[bool, ...]]
    kept: tuple[ValueInfoProto, ...]

    def apply(self, proto: ModelProto) -> ModelProto:
        """What is left of the original or of a rewritten form of it; UnsupportedError when its cut nodes are others."""
        graph = GraphProto(name=proto.graph.name or "graph")
        cut = {tuple(node.output): used_names(node) for node in proto.graph.node if tuple(node.output) in self.nodes}
        left = [node for node in proto.graph.node if tuple(node.output) not in cut] + list(self._taps(cut))
        reached = _reached(left, [*(value.name for value in self.kept), *self._tap_names()])
        graph.node.extend(node for at, node in enumerate(left) if at in reached)
        used = {name for node in graph.node for name in node.input}
        graph.initializer.extend(tensor for tensor in proto.graph.initializer if tensor.name in used)
        graph.sparse_initializer.extend(one for one in proto.graph.sparse_initializer if one.values.name in used)
        graph.input.extend(self.infos)
        graph.output.extend(self.kept)
        graph.output.extend(helper.make_empty_tensor_value_info(name) for name in self._tap_names())
        opsets = [entry for entry in proto.opset_import if entry.domain in STANDARD]
        return ModelProto(ir_version=proto.ir_version, opset_import=opsets, graph=graph)

    def require_the_same(self, first: ModelProto, second: ModelProto) -> None:
        """Check that the nodes taken out are the same in two models but for their operands; UnsupportedError if not."""
        alone = [_without_operands(proto, self.nodes) for proto in (first, second)]
        for outputs in self.nodes:
            if alone[0].get(outputs) != alone[1].get(outputs):
                raise UnsupportedError(f"expected the same node that gives {outputs[0]!r} in both models, found two")

    def feeds(self, samples: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        """What samples for the whole model give to the cut."""
        wanted = {entry.name for entry in self.inputs}
        return [{name: array for name, array in sample.items() if name in wanted} for sample in samples]

    def _taps(self, operands: Mapping[tuple[str, ...], Sequence[str]]) -> Iterator[NodeProto]:
        names = iter(self._tap_names())
        for outputs, tapped in self.nodes.items():
            if outputs not in operands or len(operands[outputs]) != len(tapped):
                raise UnsupportedError(f"expected the node that gives {outputs[0]!r} in both models, found it in one")
            for operand, computed in zip(operands[outputs], tapped, strict=True):
                if computed:
                    tap = next(names)
                    yield helper.make_node("Identity", [operand], [tap], name=tap)

    def _tap_names(self) -> list[str]:
        return [f"{PREFIX}{at}" for at in range(sum(map(sum, self.nodes.values())))]


def _without_operands(proto: ModelProto, wanted: Container[tuple[str, ...]]) -> dict[tuple[str, ...], bytes]:
    """What the wanted nodes are but for their names and operands, by what they give."""
    found = {}
    for node in proto.graph.node:
        if tuple(node.output) in wanted:
            bare = NodeProto()
            bare.CopyFrom(node)
            bare.ClearField("input")
            bare.ClearField("name")
            captured = {name: f"{PREFIX}captured{at}" for at, name in enumerate(captured_names(node))}
            rename_captures(bare, captured, (f"{PREFIX}own{at}" for at in count()))
            found[tuple(node.output)] = bare.SerializeToString(deterministic=True)
    return found


def cut_out(model: Model) -> Cutout | None:
    """How to cut a model; None where every node is covered by a specification, or none is."""
    graph = model.proto.graph
    reached = _reached(graph.node, [value.name for value in graph.output])
    cut = [at for at in model.order if at in reached and _is_opaque(model, at)]
    left = [node for at, node in enumerate(graph.node) if at in reached and not _is_opaque(model, at)]
    if not cut or not left:
        return None
    computed = {name for node in left for name in node.output if name}
    used = {name for node in left for name in node.input if name}
    nodes = [graph.node[at] for at in cut]
    tapped = {tuple(node.output): tuple(name in computed for name in used_names(node)) for node in nodes}
    kept = tuple(value for value in graph.output if value.name in computed)
    taps = [name for node in nodes for name in used_names(node) if name in computed]
    given = [value for value in graph.input if value.name in used]
    drawn = [entry for entry in model.inputs if entry.name in used]
    for name, kind in _given_by(model, cut):
        if name in used:
            given.append(_value_info(name, kind))
            drawn.append(_model_input(model, name, kind))
    return Cutout(tuple(drawn), (*(value.name for value in kept), *taps), tuple(given), tapped, kept)


def needs_libraries(proto: ModelProto) -> bool:
    """Whether a model has operators that neither ONNX nor the model itself defines, in bodies and functions too."""
    own = {(function.domain, function.name) for function in proto.functions}
    return any(node.domain not in ONNX_DOMAINS and (node.domain, node.op_type) not in own for node in nodes_of(proto))


def has_control_flow(proto: ModelProto) -> bool:
    """Whether a model has nodes with bodies: how long they run depends on values."""
    return any(bodies(node) for node in proto.graph.node)


def _reached(nodes: Sequence[NodeProto], wanted: Iterable[str]) -> set[int]:
    """The places of the nodes that the wanted values need."""
    producer = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    pending, reached = list(wanted), set[int]()
    while pending:
        at = producer.get(pending.pop())
        if at is not None and at not in reached:
            reached.add(at)
            pending.extend(used_names(nodes[at]))
    return reached


def _is_opaque(model: Model, at: int) -> bool:
    """Whether the terms of a node stand for the node itself, whatever it computes."""
    results = [term for term in model.uses[at].results if term is not None]
    return bool(results) and _node_of(results[0]) == at


def _node_of(term: Term) -> int | None:
    whole = term.term if isinstance(term, Item) else term
    if not isinstance(whole, Apply) or whole.operator != OPAQUE:
        return None
    return int(str(whole.attribute("node")))


def _given_by(model: Model, nodes: Sequence[int]) -> Iterator[tuple[str, TensorType]]:
    """The names and types of all values that some nodes give."""
    for at in nodes:
        for name, term in zip(model.proto.graph.node[at].output, model.uses[at].results, strict=True):
            if term is not None:
                yield name, model.builder.type(term)


def _value_info(name: str, kind: TensorType) -> ValueInfoProto:
    if kind.dtype == UNKNOWN:
        raise UnsupportedError(f"expected a type for value {name!r} of an operator that cannot run, found none")
    sizes = [dim if isinstance(dim, int) else None for dim in kind.shape]
    return helper.make_tensor_value_info(name, element_code(kind.dtype), sizes)


def _model_input(model: Model, name: str, kind: TensorType) -> ModelInput:
    dtype = "object" if kind.dtype == "string" else kind.dtype
    shape = tuple(dim if isinstance(dim, int) else str(dim) for dim in kind.shape)
    return ModelInput(name, dtype, shape, kind.bind(model.bindings).static_shape)
