"""Finds the values of inputs on which the control flow of a model hangs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onnx import GraphProto, ModelProto, TensorProto

from taso_opt.onnx_io.files.external import is_external, tensor_array
from taso_opt.onnx_io.files.weights import constant_value
from taso_opt.onnx_io.scopes import STANDARD, graphs_of

NUMBERS = frozenset({TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64})
COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})


def deciding_values(proto: ModelProto) -> list[tuple[str, float]]:
    """Names of inputs with values at which a condition may turn: what they are compared with, both truths.

    Only direct comparisons with a constant number count, and inputs that are the condition of an If themselves. Whole
    numbers are given as such: of the largest, floats hold few.
    """
    inputs = {value.name for value in proto.graph.input}
    numbers = dict(_numbers(proto.graph))
    found: dict[tuple[str, float], None] = {}
    for graph in graphs_of(proto.graph):
        for node in graph.node:
            if node.domain not in STANDARD:
                continue
            if node.op_type == "If" and node.input and node.input[0] in inputs:
                found[node.input[0], 0.0] = found[node.input[0], 1.0] = None
            if node.op_type in COMPARISONS and len(node.input) == 2:
                for name, other in (node.input, reversed(node.input)):
                    if name in inputs and other in numbers:
                        found[name, numbers[other]] = None
    return list(found)


def _numbers(graph: GraphProto) -> Iterator[tuple[str, float]]:
    """The constants of one number in a graph and its bodies, by name."""
    for scope in graphs_of(graph):
        constants = [(node.output[0], constant_value(node)) for node in scope.node if len(node.output) == 1]
        for name, tensor in (*((tensor.name, tensor) for tensor in scope.initializer), *constants):
            number = None if tensor is None else _number(tensor)
            if number is not None:
                yield name, number


def _number(tensor: TensorProto) -> float | None:
    if is_external(tensor) or any(size != 1 for size in tensor.dims) or tensor.data_type not in NUMBERS:
        return None
    number: float = tensor_array(tensor, Path()).reshape(-1)[0].item()
    return number
