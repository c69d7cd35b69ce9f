"""Tells models whose slices ONNX's own shape inference follows without an end, or out of memory, from all others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from taso_opt.onnx_io.scopes import STANDARD, graphs_of, nodes_of
from taso_opt.spec.operator import Array

STEPS_AT = 4
"""Which operand of Slice the steps are."""

FARTHEST = 2**31 - 1
"""A step with which counting on never leaves 64 bits."""


def has_near_steps(model: ModelProto) -> bool:
    """Whether all steps of slices are known constants, none of them farther than any axis is long."""
    known = dict(_numbers(model))
    steps = [node.input[STEPS_AT] for node in nodes_of(model) if _may_step(node.op_type, node.domain, len(node.input))]
    return all(name in known and bool(np.all(np.abs(known[name].astype(float)) <= FARTHEST)) for name in steps if name)


def _may_step(op_type: str, domain: str, operands: int) -> bool:
    return op_type == "Slice" and domain in STANDARD and operands > STEPS_AT


def _numbers(model: ModelProto) -> Iterator[tuple[str, Array]]:
    """The whole numbers that initializers and constants hold, by name; of those of one name, in several bodies, all."""
    found: dict[str, list[Array]] = {}
    for graph in graphs_of(model.graph):
        for tensor in graph.initializer:
            if tensor.data_type in (TensorProto.INT32, TensorProto.INT64):
                found.setdefault(tensor.name, []).append(numpy_helper.to_array(tensor))
    for node in nodes_of(model):
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.HasField("t") and attribute.t.data_type in (TensorProto.INT32, TensorProto.INT64):
                found.setdefault(node.output[0], []).append(numpy_helper.to_array(attribute.t))
            elif attribute.name in ("value_int", "value_ints") and not attribute.ref_attr_name:
                found.setdefault(node.output[0], []).append(np.atleast_1d(helper.get_attribute_value(attribute)))
    yield from ((name, np.concatenate([one.reshape(-1) for one in values])) for name, values in found.items())
