"""Copies of models without their large weights: small enough to be checked and typed in no time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from taso_opt.onnx_io.files.external import byte_count, is_external, read_in
from taso_opt.onnx_io.scopes import STANDARD, all_names, all_tensors, bodies, nodes_of, sort_nodes

SMALL = 4096
"""Weights of at most so many bytes stay: shapes of reshapes, sizes of splits, axes."""

FIRST_IR_WITH_DEFAULTS = 4
"""Since this file format an initializer that is also an input is a default that a caller may override."""


def skeleton(model: ModelProto, file: Path) -> ModelProto:
    """The same model with every large weight of its main graph turned into an input of the same type, nodes sorted.

    It needs no file: small external weights are read in, and large ones of bodies and functions are zeros that are
    computed. An initializer that a caller may override is an input too: its value is not known. Raises
    InvalidInputError for a cyclic graph.
    """
    bare = ModelProto(ir_version=model.ir_version)
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    _copy_graph(model.graph, bare.graph, overridable_inputs(model))
    _need_no_file(bare, file)
    sort_nodes(bare.graph)
    return bare


def overridable_inputs(proto: ModelProto) -> frozenset[str]:
    """The initializers that a caller may override."""
    if proto.ir_version < FIRST_IR_WITH_DEFAULTS:
        return frozenset()
    return frozenset(tensor.name for tensor in proto.graph.initializer) & {value.name for value in proto.graph.input}


def _copy_graph(graph: GraphProto, bare: GraphProto, overridable: frozenset[str]) -> None:
    bare.name = graph.name or "graph"
    bare.input.extend(graph.input)
    bare.output.extend(graph.output)
    bare.value_info.extend(graph.value_info)
    bare.sparse_initializer.extend(graph.sparse_initializer)
    inputs = {value.name for value in graph.input}
    for tensor in graph.initializer:
        if tensor.name in overridable:
            continue
        if byte_count(tensor) <= SMALL:
            bare.initializer.append(tensor)
        elif tensor.name not in inputs:
            bare.input.append(_value_info(tensor.name, tensor))
    for node in graph.node:
        large = large_constant(node)
        if large is None:
            bare.node.append(node)
        else:
            bare.input.append(_value_info(node.output[0], large))


def large_constant(node: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node when it is large."""
    tensor = _constant(node)
    return tensor if tensor is not None and byte_count(tensor) > SMALL else None


def _constant(node: NodeProto) -> TensorProto | None:
    if node.op_type != "Constant" or node.domain not in STANDARD or len(node.output) != 1:
        return None
    return next((one.t for one in node.attribute if one.name == "value" and one.HasField("t")), None)


def _value_info(name: str, tensor: TensorProto) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))


def _need_no_file(bare: ModelProto, file: Path) -> None:
    """Have no tensor refer to data in a file, which ONNX would look for in the folder that a process happens to be in.

    What is large in the main graph has gone before.
    """
    for tensor in filter(is_external, all_tensors(bare)):
        if byte_count(tensor) <= SMALL:
            read_in(tensor, file)
    if any(map(is_external, all_tensors(bare))):
        used = {name for node in nodes_of(bare) for name in (*node.input, *node.output)}
        taken = all_names(bare.graph) | used
        fresh = (name for name in (f"shape_{number}" for number in count()) if name not in taken)
        for owner in (bare.graph, *bare.functions):
            _compute_zeros(owner, fresh)
    for tensor in all_tensors(bare):  # an attribute that a local function hands on is no value that nodes could give
        read_in(tensor, file)


def _compute_zeros(owner: GraphProto | FunctionProto, fresh: Iterator[str]) -> None:
    """Put zeros that nodes compute in the place of tensors with their data in a file, at any depth."""
    given = type(owner)()
    given.CopyFrom(owner)
    del owner.node[:]
    if isinstance(owner, GraphProto):
        del owner.initializer[:]
        for tensor in given.initializer:
            if is_external(tensor):
                owner.node.extend(_zeros(tensor.name, tensor, fresh))
            else:
                owner.initializer.append(tensor)
    for node in given.node:
        for body in bodies(node):
            _compute_zeros(body, fresh)
        large = _constant(node)
        if large is not None and is_external(large):
            owner.node.extend(_zeros(node.output[0], large, fresh))
        else:
            owner.node.append(node)


def _zeros(name: str, tensor: TensorProto, fresh: Iterator[str]) -> list[NodeProto]:
    """Nodes that give zeros of the type and the shape of a tensor, under a name."""
    shape, zero = next(fresh), TensorProto(data_type=tensor.data_type, dims=[1])
    zero.raw_data = bytes(byte_count(zero))
    sizes = helper.make_tensor("", TensorProto.INT64, [len(tensor.dims)], tensor.dims)
    return [
        helper.make_node("Constant", [], [shape], value=sizes),
        helper.make_node("ConstantOfShape", [shape], [name], value=zero),
    ]
