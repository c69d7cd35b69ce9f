"""Nodes that a file spells in a way of its own: their operator is read as others and never written.

An Einsum is read as a product of matrices between transposes, a Gemm as a product and a sum. Such a node stays as it is
where a rewriting does not touch it, though the runtime may take longer for it than for what it is read as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from taso_opt.core.term import Term
from taso_opt.core.types import FLOATS, TensorType
from taso_opt.errors import SpecError
from taso_opt.onnx_io.elements import element_code
from taso_opt.onnx_io.model import Model
from taso_opt.onnx_io.patch import Patch
from taso_opt.onnx_io.scopes import STANDARD
from taso_opt.onnx_io.standalone import OLDEST_IR, standalone_model, static_shape
from taso_opt.onnx_io.write import spellable
from taso_opt.spec import SpecLibrary
from taso_opt.spec.builder import Builder
from taso_opt.spec.constants import Constants


@dataclass(frozen=True)
class OwnSpelling:
    """A node of a file, as it stands there and as what it is read as: two models of it alone, weights left out.

    `key` says all that its time depends on; `weights` and `values` are the types of its constant operands and of all
    else that it takes and gives.
    """

    node: int
    key: str
    in_file: bytes
    by_rules: bytes
    weights: tuple[TensorType, ...]
    values: tuple[TensorType, ...]


def own_spellings(model: Model, library: SpecLibrary, builder: Builder) -> list[OwnSpelling]:
    """The nodes that compute floats at run time and that the file could spell as other operators.

    `builder` has bindings that give every size a number.
    """
    unwritten = {name for name, spelling in library.spellings.items() if spelling.write is None}
    is_constant, nodes = Constants(), model.proto.graph.node
    theirs = (at for at in model.order if nodes[at].op_type in unwritten and nodes[at].domain in STANDARD)
    fitting = (at for at in theirs if _fits(model, at, builder, is_constant))
    return [one for one in (_own_spelling(model, at, builder, is_constant) for at in fitting) if one is not None]


def respelled(model: Model, nodes: Iterable[int]) -> ModelProto:
    """The model in which these nodes are spelled as what they are read as."""
    reduced = _forgetting(model, nodes)
    return Patch(reduced, model.builder, model.graph.outputs, model.folded).model()


def _results(model: Model, at: int) -> list[Term]:
    return [result for result in model.uses[at].results if result is not None]


def _fits(model: Model, at: int, builder: Builder, is_constant: Callable[[Term], bool]) -> bool:
    """Whether a node runs, what it takes and gives has sizes, and it can be written otherwise."""
    results = _results(model, at)
    values = [kind for value in (*model.uses[at].operands, *results) for kind in builder.types(value)]
    if not results or any(map(is_constant, results)) or not all(kind.is_static for kind in values):
        return False
    if any(kind.dtype not in FLOATS for result in results for kind in builder.types(result)):
        return False
    return all(map(spellable(_forgetting(model, [at])), results))


def _forgetting(model: Model, nodes: Iterable[int]) -> Model:
    """The model as if what these nodes give had been made by rewriting."""
    forgotten = set(nodes)
    return replace(model, origin={term: one for term, one in model.origin.items() if one.node not in forgotten})


def _own_spelling(model: Model, at: int, builder: Builder, is_constant: Callable[[Term], bool]) -> OwnSpelling | None:
    """A node with its models; None where it and what stands before it are read as one, so that none is of it alone."""
    node, results = model.proto.graph.node[at], _results(model, at)
    operands = list(dict.fromkeys(model.uses[at].operands))
    given = [operand for operand in operands if not is_constant(operand)]
    described = [f"{'x' if one in given else 'w'}: {builder.type(one)}" for one in model.uses[at].operands]
    attributes = sorted(f"{one.name}={helper.get_attribute_value(one)!r}" for one in node.attribute)
    try:
        opset, ir_version = model.opset, model.ir_version
        by_rules = standalone_model(builder, results, given, opset=opset, ir_version=ir_version, hollow=True)
    except SpecError:
        return None
    return OwnSpelling(
        at,
        f"{node.op_type}({', '.join(described)}; {', '.join(attributes)}) of opset {model.opset}",
        _in_file(model, at, builder, is_constant),
        by_rules,
        tuple(builder.type(operand) for operand in operands if operand not in given),
        tuple(builder.type(value) for value in (*given, *results)),
    )


def _in_file(model: Model, at: int, builder: Builder, is_constant: Callable[[Term], bool]) -> bytes:
    """A model of one node as the file spells it.

    Of its weights those are kept that may decide what it does: numbers, and what is no float.
    """
    node, graph, names = NodeProto(), GraphProto(name="node"), dict[Term, str]()
    node.CopyFrom(model.proto.graph.node[at])
    operands = iter(model.uses[at].operands)
    for place, name in enumerate(node.input):
        operand = next(operands) if name else None
        if operand is not None and operand not in names:
            names[operand] = f"x{place}"
            if is_constant(operand):
                graph.initializer.append(_weight(model, operand, names[operand], builder.type(operand)))
            else:
                graph.input.append(_value(names[operand], builder.type(operand)))
        node.input[place] = "" if operand is None else names[operand]
    for place, result in enumerate(model.uses[at].results):
        node.output[place] = "" if result is None else f"y{place}"
        if result is not None:
            graph.output.append(_value(node.output[place], builder.type(result)))
    graph.node.append(node)
    opsets, ir_version = [helper.make_opsetid("", model.opset)], max(model.ir_version, OLDEST_IR)
    made = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    return bytes(made.SerializeToString(deterministic=True))


def _value(name: str, kind: TensorType) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element_code(kind.dtype), static_shape(kind))


def _weight(model: Model, operand: Term, name: str, kind: TensorType) -> TensorProto:
    if kind.dtype in FLOATS and kind.elements != 1:
        return TensorProto(name=name, data_type=element_code(kind.dtype), dims=static_shape(kind))
    return numpy_helper.from_array(model.folded(operand).astype(kind.dtype), name)
