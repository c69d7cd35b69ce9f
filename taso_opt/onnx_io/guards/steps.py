"""Tells models whose slices ONNX's own shape inference follows without an end, or out of memory, from all others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from taso_opt.onnx_io.scopes import STANDARD, graphs_of, initializer_names, nested_nodes
from taso_opt.spec.operator import Array

STEPS_AT = 4
"""Which operand of Slice the steps are."""

FARTHEST = 2**31 - 1
"""A step with which counting on never leaves 64 bits."""

WHOLE = frozenset({TensorProto.INT32, TensorProto.INT64})


def has_near_steps(model: ModelProto) -> bool:
    """Whether all steps of slices are known constants, none of them farther than any axis is long."""
    return all(map(_steps_are_near, _scopes(model)))


def _scopes(model: ModelProto) -> Iterator[GraphProto]:
    """The graphs that know nothing of each other's names: the main one, and each local function as one."""
    yield model.graph
    for function in model.functions:
        inputs = [ValueInfoProto(name=name) for name in function.input]
        defaults = NodeProto(attribute=function.attribute_proto)
        yield GraphProto(node=[*function.node, defaults], input=inputs)


def _steps_are_near(scope: GraphProto) -> bool:
    steps = {node.input[STEPS_AT] for node in nested_nodes(scope.node) if _may_step(node)} - {""}
    if not steps:
        return True
    known = _numbers(scope)
    return all(name in known and bool(np.all(np.abs(known[name].astype(float)) <= FARTHEST)) for name in steps)


def _may_step(node: NodeProto) -> bool:
    return node.op_type == "Slice" and node.domain in STANDARD and len(node.input) > STEPS_AT


def _numbers(scope: GraphProto) -> dict[str, Array]:
    """The whole numbers that initializers and constants hold, by name; of those of one name, in several bodies, all.

    A name that anything else has too, in whichever body, is left out.
    """
    found: dict[str, list[Array]] = {}
    others: set[str] = set()
    for name, value in (entry for graph in graphs_of(scope) for entry in _definitions(graph)):
        if value is None:
            others.add(name)
        else:
            found.setdefault(name, []).append(value.reshape(-1))
    return {name: np.concatenate(values) for name, values in found.items() if name not in others}


def _definitions(graph: GraphProto) -> Iterator[tuple[str, Array | None]]:
    """Every name that a graph defines, with the whole numbers that it stands for where these are constant."""
    initializers = dict.fromkeys(initializer_names(graph))
    tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.data_type in WHOLE}
    yield from ((name, numpy_helper.to_array(tensors[name]) if name in tensors else None) for name in initializers)
    yield from ((value.name, None) for value in graph.input if value.name not in initializers)
    for node in graph.node:
        yield from ((name, _constant(node)) for name in node.output)


def _constant(node: NodeProto) -> Array | None:
    """The whole numbers that a node holds; None where it computes some or the caller of a function gives them."""
    for attribute in node.attribute if node.op_type == "Constant" and node.domain in STANDARD else ():
        if attribute.t.data_type in WHOLE:
            return numpy_helper.to_array(attribute.t)
        if attribute.name in ("value_int", "value_ints") and not attribute.ref_attr_name:
            return np.array(attribute.ints if attribute.name == "value_ints" else [attribute.i], np.int64)
    return None
