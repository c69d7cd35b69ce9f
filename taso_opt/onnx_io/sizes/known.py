"""What nodes compute from sizes that are numbers, such as the bounds of the halves that exporters cut a value into.

ONNX Runtime folds such nodes when it loads a model. Here they are evaluated while the model is read, one by one, so
that the slices, reshapes and zeros behind them can be read: by operators that are exact on whole numbers, or rounded to
the nearest float, as where pads are half of what a quotient rounded up leaves over, so that every runtime computes the
same.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import prod
from typing import TypeVar

import numpy as np
from onnx import NodeProto, helper
from onnx.reference import ReferenceEvaluator

from taso_opt.core.types import TensorType
from taso_opt.spec.operator import Array

log = logging.getLogger(__name__)

T = TypeVar("T")

ASKING = frozenset({"Shape", "Size"})
"""The operators that tell sizes."""

ARITHMETIC = frozenset(
    {
        *("Add", "Cast", "Ceil", "Clip", "Concat", "ConstantOfShape", "Div", "Equal", "Floor", "Gather", "Max", "Min"),
        *("Mod", "Mul", "Neg", "ReduceProd", "Reshape", "Slice", "Sqrt", "Squeeze", "Sub", "Transpose", "Unsqueeze"),
        "Where",
    }
)
"""The operators that exporters compute with sizes."""

MOVING = frozenset({"Gather", "Slice"})
"""Those of which a result may be known where not all sizes of a shape are: they only choose between them."""

QUOTIENTS = frozenset({"Div", "Mod"})
"""Those of which runtimes may give other results for negative numbers."""

ROUNDED_OFTEN = frozenset({"ReduceProd"})
"""Those that round floats more than once, in an order of the runtime's own."""

LARGEST = float(1 << 24)
"""Up to this every whole number is a float."""

SHAPE_AT = {"ConstantOfShape": 0, "Expand": 1}
"""The operators of which an operand states how large the result is, and which one."""

MOST_COUNTED = 2**63 - 1
"""The largest number of elements that a model can be told."""

NO_NUMBER = -1
"""Stands in a shape for a size that is no number."""

MOST_ELEMENTS = 64
"""Of a value that sizes are computed with: there are as many as axes."""


def asked_size(node: NodeProto, kind: TensorType) -> Array | None:
    """The value of a node that asks for the size of a value of that type, NO_NUMBER for sizes that are none.

    None if nothing is known, or not enough.
    """
    sizes = [size if isinstance(size, int) else NO_NUMBER for size in kind.shape]
    if not sizes:  # a type of which nothing is known has no axes either
        return None
    if node.op_type == "Size":
        count = prod(sizes)
        return None if NO_NUMBER in sizes or count > MOST_COUNTED else np.array(count, np.int64)
    return np.array(chosen_sizes(node, sizes), np.int64)


def chosen_sizes(node: NodeProto, sizes: Sequence[T]) -> Sequence[T]:
    """Which of the sizes of its operand a Shape node gives."""
    bounds = {attribute.name: attribute.i for attribute in node.attribute}
    return sizes[bounds.get("start", 0) : bounds.get("end", len(sizes))]


def computed_size(node: NodeProto, values: Sequence[Array | None], opset: int) -> Array | None:
    """The value of a node with one result over the values of its operands; None for what is not about such numbers.

    Quotients and remainders of negative numbers and by zero are left out, where runtimes may differ.
    """
    operands = [value for value in values if value is not None and _is_followed(value)]
    if node.op_type not in ARITHMETIC or len(operands) < len(values) or not stays_small(node, operands):
        return None
    if node.op_type in ROUNDED_OFTEN and not all(map(_is_whole, operands)):
        return None
    try:
        if node.op_type in QUOTIENTS and not (operands[0].min() >= 0 and operands[1].min() > 0):
            return None
        found = evaluated(node, operands, opset)
    except Exception as error:  # noqa: BLE001 - of a model that nobody has checked by running it, anything may be wrong
        log.info("a size is not followed: %s", error)
        return None
    return found if _is_followed(found) else None


def stays_small(node: NodeProto, operands: Sequence[Array]) -> bool:
    """Whether the result of a node is about as small as its operands, as far as these say it."""
    at = SHAPE_AT.get(node.op_type)
    if at is None or at >= len(operands):
        return True
    return prod(max(1, int(size)) for size in operands[at].reshape(-1)) <= MOST_ELEMENTS


def evaluated(node: NodeProto, operands: Sequence[Array], opset: int) -> Array:
    """The result of one node by ONNX's reference implementation, which until opset 13 adds new axes one by one."""
    if node.op_type == "Unsqueeze":
        return _with_axes(node, operands)
    names = [f"x{at}" for at in range(len(operands))]
    alone = NodeProto()
    alone.CopyFrom(node)
    given = iter(names)
    alone.input[:] = [next(given) if name else "" for name in node.input]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in zip(names, operands, strict=True)
    ]
    graph = helper.make_graph([alone], "sizes", inputs, [helper.make_empty_tensor_value_info(node.output[0])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    (found,) = ReferenceEvaluator(model).run(None, dict(zip(names, operands, strict=True)))
    return np.asarray(found)


def _with_axes(node: NodeProto, operands: Sequence[Array]) -> Array:
    """An array with new axes of size 1, all of which are counted in the result."""
    stated = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), None)
    axes = operands[1].reshape(-1).tolist() if stated is None else stated
    return np.expand_dims(operands[0], tuple(axes))


def _is_followed(value: Array) -> bool:
    if value.size > MOST_ELEMENTS:
        return False
    if value.dtype in (np.float32, np.float64):
        return bool(np.all(np.abs(value) <= LARGEST))
    return _is_whole(value) or value.dtype == np.bool_


def _is_whole(value: Array) -> bool:
    return value.dtype in (np.int32, np.int64)
