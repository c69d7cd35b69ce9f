"""What nodes compute from sizes that are symbols: whole numbers among which some stand for a size."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto

from taso_opt.core.dims import Dim, Size
from taso_opt.onnx_io.sizes.known import MOST_ELEMENTS, computed_size, evaluated, stays_small
from taso_opt.spec.operator import Array

FIRST_TOKEN = -(2**30)
"""Tokens count down from here; no shape, axis or place is as low, and all of them are numbers of 32 bits too."""

HOLDING = (np.int32, np.int64)
"""The types that hold a token; a cast to another one makes something else of it."""

MOVING: Mapping[str, frozenset[int]] = {
    "Cast": frozenset({0}),
    "Concat": frozenset(range(MOST_ELEMENTS)),
    "Expand": frozenset({0}),
    "Gather": frozenset({0}),
    "Identity": frozenset({0}),
    "Reshape": frozenset({0}),
    "Slice": frozenset({0}),
    "Squeeze": frozenset({0}),
    "Transpose": frozenset({0}),
    "Unsqueeze": frozenset({0}),
    "Where": frozenset({1, 2}),
}
"""The operators that leave elements as they are, with the operands whose elements these are."""


class SizeValues:
    """The values of one model's computations with sizes: arrays in which each size that is a symbol has a token."""

    def __init__(self, opset: int) -> None:
        self._opset = opset
        self._sizes: list[Size] = []
        self._tokens: dict[Size, int] = {}

    def array(self, sizes: Sequence[Dim]) -> Array:
        """Sizes as the array that a model would have of them."""
        return np.array([size if isinstance(size, int) else self._token(size) for size in sizes], np.int64)

    def dims(self, value: Array) -> tuple[Dim, ...] | None:
        """The elements of an array as sizes; None where these are no whole numbers."""
        if value.dtype.kind != "i" or value.size > MOST_ELEMENTS:
            return None
        return tuple(self._dim(int(number)) for number in value.reshape(-1))

    def computed(self, node: NodeProto, operands: Sequence[Array]) -> Array | None:
        """The value of a node with one result over those of its operands; None for what is not about sizes."""
        if any(not 0 < value.size <= MOST_ELEMENTS or value.dtype.kind not in "ib" for value in operands):
            return None
        with_tokens = {at for at, value in enumerate(operands) if self._has_tokens(value)}
        if node.op_type in MOVING and with_tokens <= MOVING[node.op_type]:
            if not stays_small(node, operands):
                return None
            found = evaluated(node, operands, self._opset)
            return found if found.dtype in HOLDING or (found.dtype.kind in "ib" and not with_tokens) else None
        if node.op_type in COMBINING:
            return self._combined(COMBINING[node.op_type], *operands)
        return None if with_tokens else computed_size(node, operands, self._opset)

    def _combined(self, combine: Callable[[Dim, Dim], Any], left: Array, right: Array) -> Array | None:
        """Two arrays combined element by element, None where that is not known for each."""
        one, other = np.broadcast_arrays(left, right)
        pairs = zip(self.dims(one) or (), self.dims(other) or (), strict=True)
        found = [combine(*pair) for pair in pairs]
        if not found or None in found:
            return None
        whole = np.array(found) if isinstance(found[0], bool) else self.array(found)
        return whole.reshape(one.shape)

    def _token(self, size: Size) -> int:
        known = self._tokens.get(size)
        if known is None:
            known = self._tokens[size] = FIRST_TOKEN - len(self._sizes)
            self._sizes.append(size)
        return known

    def _dim(self, number: int) -> Dim:
        return self._sizes[FIRST_TOKEN - number] if self._is_token(number) else number

    def _is_token(self, number: int) -> bool:
        return FIRST_TOKEN - len(self._sizes) < number <= FIRST_TOKEN

    def _has_tokens(self, value: Array) -> bool:
        return value.dtype.kind == "i" and any(map(self._is_token, map(int, value.reshape(-1))))


def is_never_negative(size: Dim) -> bool:
    """Whether a size is none below zero, whatever its symbols stand for."""
    return size >= 0 if isinstance(size, int) else all(factor > 0 for _, factor in size.terms)


def _equal(one: Dim, other: Dim) -> bool | None:
    """Whether two sizes are one, None where that depends on symbols."""
    difference = one - other
    if isinstance(difference, int):
        return difference == 0
    apart = is_never_negative(difference - 1) or is_never_negative(-1 - difference)
    return False if apart else None


COMBINING: Mapping[str, Callable[[Dim, Dim], Any]] = {
    "Add": operator.add,
    "Equal": _equal,
    "Mul": operator.mul,
    "Sub": operator.sub,
}
