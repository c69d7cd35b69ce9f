"""Copies of models without their large weights: small enough to be checked and typed in no time."""

from __future__ import annotations

from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from taso_opt.onnx_io.external import byte_count, is_external, raw_data
from taso_opt.onnx_io.scopes import STANDARD, sort_nodes

SMALL = 4096
"""Weights of at most so many bytes stay: shapes of reshapes, sizes of splits, axes."""

FIRST_IR_WITH_DEFAULTS = 4
"""Since this file format an initializer that is also an input is a default that a caller may override."""


def skeleton(model: ModelProto, file: Path) -> ModelProto:
    """The same model with every large weight of its main graph turned into an input of the same type, nodes sorted.

    Small external weights are read in. An initializer that a caller may override is an input too: its value is not
    known. Raises InvalidInputError for a cyclic graph.
    """
    bare = ModelProto(ir_version=model.ir_version)
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    _copy_graph(model.graph, bare.graph, file, overridable_inputs(model))
    sort_nodes(bare.graph)
    return bare


def overridable_inputs(proto: ModelProto) -> frozenset[str]:
    """The initializers that a caller may override."""
    if proto.ir_version < FIRST_IR_WITH_DEFAULTS:
        return frozenset()
    return frozenset(tensor.name for tensor in proto.graph.initializer) & {value.name for value in proto.graph.input}


def _copy_graph(graph: GraphProto, bare: GraphProto, file: Path, overridable: frozenset[str]) -> None:
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
            bare.initializer.append(_read_in(tensor, file))
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
    if node.op_type != "Constant" or node.domain not in STANDARD or len(node.output) != 1:
        return None
    tensors = [attribute.t for attribute in node.attribute if attribute.name == "value"]
    return tensors[0] if tensors and byte_count(tensors[0]) > SMALL else None


def _read_in(tensor: TensorProto, file: Path) -> TensorProto:
    if not is_external(tensor):
        return tensor
    content = raw_data(tensor, file)
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=content)


def _value_info(name: str, tensor: TensorProto) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))
