"""Nodes that a file spells in a way of its own: what rules read them as is never written so.

An Einsum is read as a product of matrices between transposes, a Gemm as a product and a sum; a Resize picks the same
elements by several formulas. Such a node stays as it is where a rewriting does not touch it, though the runtime may
take longer for it than for what it is read as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import cast

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from taso_opt.core.dims import Dim
from taso_opt.core.term import Apply, Const, Term, is_constant
from taso_opt.core.types import FLOATS, TensorType
from taso_opt.errors import SpecError
from taso_opt.onnx_io.elements import element_code
from taso_opt.onnx_io.nodes import node_attributes, spelled
from taso_opt.onnx_io.probes.standalone import OLDEST_IR, standalone_model, static_shape
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.scopes import STANDARD
from taso_opt.onnx_io.writing.patch import Patch
from taso_opt.onnx_io.writing.write import spellable
from taso_opt.spec import SpecLibrary
from taso_opt.spec.builder import Builder

LONG = 3
"""The rank from which a row of constants has axes that no file needs."""

MOST_NUMBERS = 5
"""Of floats that decide what a node does: one for each axis, as the scales of a Resize."""


@dataclass(frozen=True)
class OwnSpelling:
    """A kind of node of a file, as it stands there and as what it is read as: two models of it alone, weights left out.

    `key` says all that its time depends on; `weights` and `values` are the types of its constant operands and of all
    else that it takes and gives.
    """

    key: str
    in_file: bytes
    by_rules: bytes
    weights: tuple[TensorType, ...]
    values: tuple[TensorType, ...]


def own_spellings(model: Model, library: SpecLibrary, builder: Builder) -> dict[int, OwnSpelling]:
    """The nodes that compute floats at run time and that the file could spell as other operators, by their numbers.

    `builder` has bindings that give every size a number. Nodes of one kind share what is said of them.
    """
    own = {name for name, spelling in library.spellings.items() if spelling.write is None or spelling.in_many_ways}
    nodes, is_spellable = model.proto.graph.node, spellable(model)
    kinds: dict[str, OwnSpelling | None] = {}
    found = {}
    for at in model.order:
        if nodes[at].op_type not in own or nodes[at].domain not in STANDARD:
            continue
        if _says_it_so(model, at) or not _fits(model, at, builder, is_spellable):
            continue
        key = _key(model, at, builder)
        if key not in kinds:
            kinds[key] = _own_spelling(key, model, at, builder)
        found[at] = kinds[key]
    return {at: kind for at, kind in found.items() if kind is not None}


def respelled(model: Model, nodes: Iterable[int]) -> ModelProto:
    """The model in which these nodes are spelled as what they are read as."""
    forgotten = set(nodes)
    reduced = replace(model, origin={term: one for term, one in model.origin.items() if one.node not in forgotten})
    return Patch(reduced, model.graph.outputs).model()


def lengthened(model: Model) -> list[int]:
    """The nodes in which a file gives a row of constants more axes in front than any operand needs, as (1, 1, c).

    Rules have it as (c), and so do the patterns by which a runtime knows a normalization.
    """
    is_spellable = spellable(model)
    return [
        at
        for at in model.order
        if any(map(_has_short_row, _results(model, at)))
        and all(map(is_spellable, (child for result in _results(model, at) for child in result.children)))
        and all(_is_written(model, result) for result in _results(model, at))
    ]


def _has_short_row(result: Term) -> bool:
    """Whether an operand is a row of constants that has lost axes in front."""
    rows = (one for one in result.children if isinstance(one, Apply) and one.operator == "Reshape")
    return any(
        isinstance(constant, Const)
        and constant.type.dtype in FLOATS
        and constant.type.rank >= LONG
        and len(cast(tuple[Dim, ...], row.attribute("shape"))) == 1
        for row in rows
        for constant in row.args
    )


def _results(model: Model, at: int) -> list[Term]:
    return [result for result in model.uses[at].results if result is not None]


def _fits(
    model: Model,
    at: int,
    builder: Builder,
    is_spellable: Callable[[Term], bool],
) -> bool:
    """Whether a node runs, what it takes and gives has sizes, and its results can be written without it."""
    results = _results(model, at)
    values = [kind for value in (*model.uses[at].operands, *results) for kind in builder.types(value)]
    if not results or any(map(is_constant, results)) or not all(kind.is_static for kind in values):
        return False
    if any(kind.dtype not in FLOATS for result in results for kind in builder.types(result)):
        return False
    below = (child for result in results for child in result.children)
    return all(map(is_spellable, below)) and all(_is_written(model, result) for result in results)


def _says_it_so(model: Model, at: int) -> bool:
    """Whether a node is written as the file has it: with the same attributes, as far as that names any."""
    node = model.proto.graph.node[at]
    said = node_attributes(node)
    calls = [
        spelled(model.builder, one, model.opset, model.number) for one in _results(model, at) if isinstance(one, Apply)
    ]
    return bool(calls) and all(
        call is not None and call.op_type == node.op_type and said.items() >= call.attributes.items() for call in calls
    )


def _is_written(model: Model, result: Term) -> bool:
    """Whether a node of ONNX gives a result, if its operands are written."""
    return not isinstance(result, Apply) or spelled(model.builder, result, model.opset, model.number) is not None


def _key(model: Model, at: int, builder: Builder) -> str:
    node, operands = model.proto.graph.node[at], model.uses[at].operands
    described = [f"{'w' if is_constant(one) else 'x'}: {_described(builder.type(one))}" for one in operands]
    attributes = sorted(f"{one.name}={helper.get_attribute_value(one)!r}" for one in node.attribute)
    given = ", ".join(_described(builder.type(result)) for result in _results(model, at))
    return f"{node.op_type}({', '.join(described)}; {', '.join(attributes)}) of opset {model.opset}: {given}"


def _described(kind: TensorType) -> str:
    return f"{kind.dtype}{kind}"


def _own_spelling(key: str, model: Model, at: int, builder: Builder) -> OwnSpelling | None:
    """A node with its models; None where it and what stands before it are read as one, so that none is of it alone."""
    results, operands = _results(model, at), list(dict.fromkeys(model.uses[at].operands))
    given = [operand for operand in operands if not is_constant(operand)]
    try:
        opset, ir_version = model.opset, model.ir_version
        by_rules = standalone_model(builder, results, given, opset=opset, ir_version=ir_version, hollow=True)
    except SpecError:
        return None
    return OwnSpelling(
        key,
        _in_file(model, at, builder),
        by_rules,
        tuple(builder.type(operand) for operand in operands if is_constant(operand)),
        tuple(builder.type(value) for value in (*given, *results)),
    )


def _in_file(model: Model, at: int, builder: Builder) -> bytes:
    """A model of one node as the file spells it.

    Of its weights those are kept that may decide what it does: a few numbers, and what is no float.
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
    if kind.dtype in FLOATS and (kind.elements is None or kind.elements > MOST_NUMBERS):
        return TensorProto(name=name, data_type=element_code(kind.dtype), dims=static_shape(kind))
    return numpy_helper.from_array(model.folded(operand).astype(kind.dtype), name)
