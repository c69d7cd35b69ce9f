"""Reductions over axes counted from the end, which stay with size 1: types, meanings and spellings that specs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from taso_opt.core.dims import Dim, product
from taso_opt.core.term import Apply, Attribute, Term
from taso_opt.core.types import FRACTIONS, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import (
    Array,
    ArrayModule,
    OnnxCall,
    OnnxNode,
    Operator,
    Spelling,
    WriteContext,
    plain_spelling,
)
from taso_opt.spec.shared.axes import node_axes
from taso_opt.spec.shared.shapes import axis_from_end, is_star
from taso_opt.spec.shared.transcendental import EXP, LOG
from taso_opt.spec.shared.windows import WindowShares

Choices = Mapping[str, Sequence[Mapping[str, Attribute]]]

ROWS_AND_COLUMNS: Choices = {"sums": ({"axes": (-1,)}, {"axes": (-2,)}), "totals": ({"axes": (-2, -1)},)}
"""The axes that the enumeration of what passes sums tries."""

ROWS_OR_COLUMNS, CHANNELS = ((-1,), (-2,), (-2, -1)), ((-3,),)
"""The axes of which definitions speak: of matrices, and those of images besides."""


def reduction(
    name: str,
    evaluate: Callable[..., Array],
    axes_are_an_input: int,
    choices: Choices | None = None,
    gives_fractions: bool = False,
) -> Operator:
    """The operator `name` of ONNX over known axes, which it takes as an operand from some opset on.

    ONNX may drop the axes, which is a reshape; without any it reduces all or none, and that is not covered. What
    `gives_fractions` is covered for floats alone: of integers ONNX does not say how results are rounded.
    """

    def infer(x: TensorType, axes: Sequence[int]) -> TensorType:
        if not axes or len(set(axes)) < len(axes) or not all(-x.rank <= axis < 0 for axis in axes):
            raise TypeMismatch(f"expected different axes from the end for {name}, found {list(axes)} of {x}")
        if any(map(is_star, x.shape[min(axes) :])) or any(x.shape[axis] == 0 for axis in axes):
            raise TypeMismatch(f"expected axes {list(axes)} of a tensor for {name}, found {x}")
        return TensorType(x.dtype, kept_shape(x.shape, axes))

    def read(op: Builder, node: OnnxNode) -> Term | None:
        kind = node.types[0]
        return None if kind is None or (gives_fractions and kind.dtype not in FRACTIONS) else _read(op, node, name)

    def write(term: Apply, context: WriteContext) -> OnnxCall:
        axes = _axes(term)
        if context.opset < axes_are_an_input:
            rank = context.type_of(term.args[0]).rank
            return OnnxCall(name, term.args, {"axes": [axis + rank for axis in axes], "keepdims": 1})
        return OnnxCall(name, (*term.args, np.array(axes, np.int64)), {"keepdims": 1})

    spelling = Spelling((name,), read, write)
    return Operator(name, infer, evaluate, spelling, arity=1, choices=choices or {}, defined=True)


ONE_AXIS_SINCE = 13
"""Before, what follows took all axes from the given one on together."""


def along_one_axis(name: str, evaluate: Callable[..., Array], choices: Choices | None = None) -> Operator:
    """The operator `name` of ONNX that gives every element of one axis a value that hangs on all of them."""

    def infer(x: TensorType, axis: int) -> TensorType:
        if not -x.rank <= axis < 0 or any(is_star(dim) for dim in x.shape[axis:]) or x.shape[axis] == 0:
            raise TypeMismatch(f"expected a tensor with axis {axis} for {name}, found {x}")
        return x

    def read(op: Builder, node: OnnxNode) -> Term | None:
        kind, (x, *_) = node.types[0], node.inputs
        if kind is None or x is None:
            return None
        axis = axis_from_end(node.attribute("axis", -1 if node.opset >= ONE_AXIS_SINCE else 1), kind.rank)
        if node.opset < ONE_AXIS_SINCE and axis != -1:
            return None
        return op.apply(name, (x,), {"axis": axis})

    def write(term: Apply, context: WriteContext) -> OnnxCall | None:
        axis = term.attribute("axis")
        assert isinstance(axis, int), f"expected an axis, found {axis!r}"
        if context.opset < ONE_AXIS_SINCE and axis != -1:
            return None
        return OnnxCall(name, term.args, {"axis": axis + context.type_of(term.args[0]).rank})

    spelling = Spelling((name,), read, write)
    return Operator(name, infer, evaluate, spelling, arity=1, choices=choices or {}, defined=True)


def pixels(rank: int) -> tuple[int, ...]:
    """The spatial axes of an image, counted from the end."""
    return tuple(range(2 - rank, 0))


def global_pool(name: str, evaluate: Callable[..., Array]) -> Operator:
    """The operator `name` of ONNX that reduces every channel of an image over all of its spatial axes."""

    def infer(x: TensorType) -> TensorType:
        if x.rank < 3 or any(map(is_star, x.shape)) or 0 in x.shape[2:]:
            raise TypeMismatch(f"expected an image for {name}, found {x}")
        return TensorType(x.dtype, kept_shape(x.shape, pixels(x.rank)))

    return Operator(name, infer, evaluate, plain_spelling(name), arity=1, defined=True)


def _axes(term: Apply) -> list[int]:
    axes = term.attribute("axes")
    assert isinstance(axes, tuple), f"expected axes, found {axes!r}"
    return [axis for axis in axes if isinstance(axis, int)]


def _read(op: Builder, node: OnnxNode, name: str) -> Term | None:
    axes, kind, (x, *_) = node_axes(node), node.types[0], node.inputs
    if not axes or kind is None or x is None:
        return None
    shape = kind.shape
    found = sorted({axis_from_end(axis, len(shape)) for axis in axes})
    result = op.apply(name, (x,), {"axes": tuple(found)})
    if node.attribute("keepdims", 1):
        return result
    kept = tuple(dim for at, dim in enumerate(shape) if at - len(shape) not in found)
    return op.apply("Reshape", (result,), {"shape": kept})


def total(xp: ArrayModule, x: Array, axes: Sequence[int]) -> Array:
    """The sum over axes counted from the end, which stay with size 1."""
    shape = xp.shape(x)
    return xp.reshape(xp.sum(x, tuple(axes)), kept_shape(shape, axes))  # type: ignore[arg-type]


def greatest(xp: ArrayModule, x: Array, axes: Sequence[int]) -> Array:
    """The greatest element over axes counted from the end, which stay with size 1."""
    shape = xp.shape(x)
    return xp.reshape(xp.maximum(x, tuple(axes)), kept_shape(shape, axes))  # type: ignore[arg-type]


def mean(xp: ArrayModule, x: Array, axes: Sequence[int]) -> Array:
    """The mean over axes counted from the end, which stay with size 1."""
    shape = list(xp.shape(x))
    count = product(tuple(shape[axis] for axis in axes))
    whole: Any = WindowShares((count,), (count,), (1,), (0, 0), True)  # type: ignore[arg-type]
    return total(xp, xp.scale(x, whole), axes)


def shares(xp: ArrayModule, x: Array, axis: int) -> Array:
    """Exponentials divided by their sum along an axis counted from the end.

    The greatest element is subtracted first, as in the standard: without that, exponentials of large numbers are
    infinite where their shares are not.
    """
    powers = xp.apply(EXP, xp.subtract(x, greatest(xp, x, (axis,))))
    return xp.divide(powers, total(xp, powers, (axis,)))


def log_of_sum(xp: ArrayModule, x: Array, axes: Sequence[int]) -> Array:
    """The logarithm of the sum of exponentials over axes counted from the end, which stay with size 1.

    The greatest element is taken off first, as in `shares`.
    """
    most = greatest(xp, x, axes)
    powers = xp.apply(EXP, xp.subtract(x, most))
    return xp.add(most, xp.apply(LOG, total(xp, powers, axes)))


def kept_shape(shape: Sequence[Dim], axes: Sequence[int]) -> tuple[Dim, ...]:
    """A shape with size 1 at the axes."""
    gone = {axis % len(shape) for axis in axes}
    return tuple(1 if at in gone else size for at, size in enumerate(shape))
