"""The nodes, names and new constants of a rewritten graph, made to fit into the original model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from taso_opt.core.term import Apply, Const, Item, Term, Var
from taso_opt.onnx_io.files.skeleton import FIRST_IR_WITH_DEFAULTS
from taso_opt.onnx_io.nodes import node_of, ordered_operands, spelled
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.scopes import all_names, captured_names, drop, free_names, rename_captures, used_names
from taso_opt.onnx_io.writing.arrangement import Arrangement
from taso_opt.spec.operator import Array

PREFIX = "tasoopt_"
"""What the names of new nodes and values start with."""

PLAIN_KINDS = "biuf"
"""The kinds of NumPy's types whose bytes are those of a tensor; large ones are not copied more often than they must."""


class Patch:
    """A rewritten graph under construction; `model` makes its parts and puts them into a copy of the original."""

    def __init__(self, model: Model, outputs: Sequence[Term]) -> None:
        self._model, self._builder, self._outputs = model, model.builder, outputs
        self._graph = model.proto.graph
        self._output_names = [value.name for value in self._graph.output]
        self._taken = all_names(self._graph)
        self._arrangement = Arrangement(model, outputs)
        self._fresh = self._fresh_names()
        self._names: dict[Term, str] = {}
        self._arrays: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._constants: dict[str, Term | Array] = {}
        self._nodes: list[NodeProto] = []

    def model(self) -> ModelProto:
        """The model with the nodes and constants in place of those of the original, without what is no longer used."""
        self._build()
        used = {name for node in self._nodes for name in used_names(node)}
        used |= {value.name for value in (*self._graph.input, *self._graph.output)} | _named_aside(self._model.proto)
        result = self._kept(used)
        graph = result.graph
        # ONNX keeps some operands of terms in attributes, which nothing uses.
        for name, value in self._constants.items():
            if name in used:
                before = result.ir_version < FIRST_IR_WITH_DEFAULTS
                self._fill(_constant_node(graph, name) if before else graph.initializer.add(), name, value)
        graph.node.extend(self._nodes)
        return result

    def _build(self) -> None:
        """Choose the names of the terms and emit them."""
        # 1. Names: outputs keep theirs, then whatever the original called a value.
        aliases = self._name_outputs()
        for term in self._arrangement.terms:
            self._name(term)
        # 2. Nodes.
        emitted: set[int] = set()
        for term in self._arrangement.terms:
            self._emit(term, emitted)
        for output, term in aliases:
            self._nodes.append(helper.make_node("Identity", [self._names[term]], [output], name=next(self._fresh)))

    def _kept(self, used: set[str]) -> ModelProto:
        """A copy of the model without nodes, and without what none of the new ones uses.

        It is copied twice: what is deleted from a message keeps its memory until the whole message goes.
        """
        whole = ModelProto()
        whole.CopyFrom(self._model.proto)
        del whole.graph.node[:]
        computed = {name for node in self._nodes for name in node.output}
        # An output that is one of two equal initializers is the Identity of the other one from now on.
        _drop_unused(whole.graph, used - computed, used | computed)
        result = ModelProto()
        result.CopyFrom(whole)
        return result

    def _fresh_names(self) -> Iterator[str]:
        return (name for name in (f"{PREFIX}{number}" for number in count()) if name not in self._taken)

    def _original_name(self, term: Term) -> str | None:
        """What the original calls a value."""
        origin = self._model.origin.get(term)
        if origin is not None:
            return origin.value
        node = self._arrangement.node(term)
        if node is None:
            return None
        index = term.index if isinstance(term, Item) else 0
        return self._graph.node[node].output[index] or None

    def _name_outputs(self) -> list[tuple[str, Term]]:
        """Name the terms of the outputs; those that need an Identity, because they have another name, are returned."""
        wanted = list(zip(self._output_names, self._outputs, strict=True))
        for name, term in wanted:
            if self._original_name(term) == name:
                self._names[term] = name
        aliases = []
        for name, term in wanted:
            if self._names.get(term) == name:
                continue
            if term in self._names or self._is_leaf(term):
                aliases.append((name, term))
            else:
                self._names[term] = name
        return aliases

    def _is_leaf(self, term: Term) -> bool:
        """Whether the name of a term cannot be chosen or no node of the result yields it."""
        return isinstance(term, Var | Const) or (term in self._arrangement.constant and term not in self._model.origin)

    def _name(self, term: Term) -> None:
        """Choose the name of a term, unless it is an output or names only its items."""
        if term in self._names or (term not in self._arrangement.constant and len(self._builder.types(term)) != 1):
            return
        name = self._original_name(term)
        self._names[term] = next(self._fresh) if name is None or name in self._output_names else name

    def _emit(self, term: Term, emitted: set[int]) -> None:
        """Add the node that yields a term, unless it is a leaf or the node is there already."""
        node = self._arrangement.node(term)
        if node is not None:
            if node not in emitted:
                emitted.add(node)
                self._nodes.append(self._kept_node(node, term))
            return
        if term in self._model.origin:
            return
        if term in self._arrangement.constant or isinstance(term, Const):
            self._constants[self._names[term]] = term
        elif isinstance(term, Apply):
            self._nodes.append(self._new_node(term))

    def _kept_node(self, at: int, term: Term) -> NodeProto:
        """A node of the original under the present names of its operands and results."""
        original = self._graph.node[at]
        node = NodeProto()
        node.CopyFrom(original)
        names = iter([self._names[operand] for operand in self._arrangement.operands(term)])
        node.input[:] = [next(names) if name else "" for name in original.input]
        captures = {old: new for old, new in zip(captured_names(original), names, strict=True) if old != new}
        if captures:
            rename_captures(node, captures, self._fresh)
        node.output[:] = [self._result_name(at, index, term) for index in range(len(node.output))]
        return node

    def _result_name(self, at: int, index: int, term: Term) -> str:
        """The present name of one output of a kept node; what nothing uses keeps its own if that is free."""
        name = self._graph.node[at].output[index]
        if not name:
            return ""
        result = self._model.uses[at].results[index]
        if term not in self._model.origin:
            result = self._builder.item(term.term, index) if isinstance(term, Item) else term
        if result in self._names and self._arrangement.node(result) == at:
            return self._names[result]
        return next(self._fresh) if name in self._output_names else name

    def _new_node(self, term: Apply) -> NodeProto:
        call = spelled(self._builder, term, self._model.opset, self._model.number)
        assert call is not None, f"ONNX cannot express {term.operator} at opset {self._model.opset}"
        call = ordered_operands(self._builder, term, call, self._arrangement.constant.__contains__)
        if call.output_count == 1:
            outputs = [self._names.get(Item(term, 0), self._names[term])]  # a split may have one part
        else:
            items = [self._builder.item(term, index) for index in range(call.output_count)]
            mine = [self._names.get(item) if item not in self._model.origin else None for item in items]
            outputs = [name or next(self._fresh) for name in mine]
        return node_of(call, next(self._fresh), outputs, self._names.__getitem__, self._array)

    def _array(self, value: Array) -> str:
        """The name of a constant of a spelling; equal ones are one."""
        key = value.dtype.str, value.shape, value.tobytes()
        if key not in self._arrays:
            self._arrays[key] = next(self._fresh)
            self._constants[self._arrays[key]] = np.array(value, order="C")
        return self._arrays[key]

    def _fill(self, tensor: TensorProto, name: str, value: Term | Array) -> None:
        """Put a new constant into its place, computed only now, so that never two large ones are there at once."""
        array = self._model.folded(value) if isinstance(value, Term) else value
        if array.dtype.kind in PLAIN_KINDS:
            tensor.name, tensor.data_type = name, helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor.dims.extend(array.shape)
            tensor.raw_data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        else:
            tensor.CopyFrom(numpy_helper.from_array(array, name))


def _named_aside(proto: ModelProto) -> set[str]:
    """The values that notes on quantization and training name, which are no nodes."""
    names = {entry.value for note in proto.graph.quantization_annotation for entry in note.quant_parameter_tensor_names}
    for training in proto.training_info:
        for graph in (training.initialization, training.algorithm):
            names.update(free_names(graph))
        names.update(entry.key for entry in (*training.initialization_binding, *training.update_binding))
    return names


def _drop_unused(graph: GraphProto, used: set[str], defined: set[str]) -> None:
    """Delete initializers that nothing uses, and notes on values that no longer exist."""
    drop(graph.initializer, lambda tensor: tensor.name not in used)
    drop(graph.sparse_initializer, lambda sparse: sparse.values.name not in used)
    drop(graph.value_info, lambda value: value.name not in defined)
    drop(graph.quantization_annotation, lambda note: note.tensor_name not in defined)


def _constant_node(graph: GraphProto, name: str) -> TensorProto:
    """The place of the value of a new node that yields it."""
    node = graph.node.add(op_type="Constant", name=name, output=[name])
    attribute: AttributeProto = node.attribute.add(name="value", type=AttributeProto.TENSOR)
    return attribute.t
