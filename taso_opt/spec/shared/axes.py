"""The axes that ONNX nodes name: in an attribute, and as an operand since some opset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taso_opt.core.term import Apply
from taso_opt.spec.operator import OnnxCall, OnnxNode, WriteContext

SIZE_ONE_SINCE = 13
"""The opset since which the axes of Squeeze and Unsqueeze are an operand."""


def node_axes(node: OnnxNode) -> list[int] | None:
    """The axes that a node names in an attribute or as its second operand: none if it names none, None if unknown.

    Exporters give a single axis as a number, too, which runtimes take.
    """
    given = node.attribute("axes", None)
    if given is None and len(node.inputs) > 1 and node.inputs[1] is not None:
        given = node.constants[1]
        if given is None:
            return None
    return [] if given is None else [int(axis) for axis in np.ravel(given)]


def call_for_axis(term: Apply, context: WriteContext, rank: int) -> OnnxCall:
    """The node of an operator that adds or takes away one axis of a tensor that has this rank with it."""
    axis = term.attribute("axis")
    assert isinstance(axis, int), f"expected an axis, found {axis!r}"
    if context.opset < SIZE_ONE_SINCE:
        return OnnxCall(term.operator, term.args, {"axes": [axis + rank]})
    return OnnxCall(term.operator, (*term.args, np.array([axis], np.int64)))


def moved_axes(order: Sequence[int]) -> tuple[int, ...]:
    """What Transpose has of all axes in a new order: the last ones, from the first that moves, counted from the end."""
    moved = next((axis for axis, old in enumerate(order) if old != axis), len(order))
    return tuple(axis - len(order) for axis in order[moved:])
