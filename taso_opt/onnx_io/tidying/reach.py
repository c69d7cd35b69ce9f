"""Finds the nodes that make something of sizes of tensors that is no list of sizes any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from onnx import GraphProto, NodeProto, TensorProto

from taso_opt.onnx_io.scopes import bodies

CARRIERS = frozenset({"Abs", "Add", "Cast", "CastLike", "Concat", "Expand", "Gather", "Identity", "Reshape", "Squeeze"})
"""Operators whose results are sizes where an operand is one."""

Makers = Mapping[str, Sequence[NodeProto]]


def misleading_values(graph: GraphProto) -> set[str]:
    """The names of what every Reshape and Abs gives whose data may be the shape of a tensor or a part of it.

    A library that follows shapes through a model as flat lists of sizes, none of them negative, goes wrong at such a
    node: a Reshape makes tables of them, and what Abs is there for is a difference. Constants of integers count as
    shapes, but a node of constants alone does not count, for it can be folded.
    """
    makers: dict[str, list[NodeProto]] = defaultdict(list)
    integers, constants, suspects = set[str](), set[str](), list[NodeProto]()
    stack = [graph]
    while stack:
        scope = stack.pop()
        for tensor in scope.initializer:
            constants.add(tensor.name)
            if tensor.data_type == TensorProto.INT64:
                integers.add(tensor.name)
        for node in scope.node:
            for name in node.output:
                makers[name].append(node)
            if node.op_type == "Constant":
                constants.update(node.output)
                integers.update(node.output if _is_integer(node) else ())
            if node.op_type in ("Abs", "Reshape"):
                suspects.append(node)
            stack.extend(bodies(node))
    open_ = [node for node in suspects if not set(node.input) <= constants]
    return {node.output[0] for node in open_ if _may_be_sizes(node.input[0], makers, integers)}


def _is_integer(constant: NodeProto) -> bool:
    return any(
        one.name in ("value_int", "value_ints") or (one.name == "value" and one.t.data_type == TensorProto.INT64)
        for one in constant.attribute
    )


def _may_be_sizes(name: str, makers: Makers, integers: set[str]) -> bool:
    pending, seen = [name], set[str]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in integers or any(node.op_type == "Shape" for node in makers.get(value, ())):
            return True
        for node in makers.get(value, ()):
            if node.op_type in CARRIERS:
                pending.extend(node.input)
            for body in bodies(node):
                pending.extend(output.name for output in body.output)
    return False
