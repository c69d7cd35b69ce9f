"""Piecewise linear functions, all spelled by the positive part, and their rational parameters.

A meaning over the positive part alone is one formula for every interpretation: floats compute it, Z3 splits it into
cases, and proofs over the reals decide equations between such functions.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np

from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Term
from taso_opt.core.types import TRUTH, TensorType
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array, ArrayModule, OnnxCall, OnnxNode, ScalarFunction, Spelling, WriteContext
from taso_opt.spec.shared.shapes import broadcast

RELU = ScalarFunction(
    "relu", lambda x: np.maximum(x, 0), zero_preserving=True, idempotent=True, monotone=True, positive_part=True
)

STEP = ScalarFunction("step", lambda x: np.heaviside(x, 0), zero_preserving=True, monotone=True, positive=True)

Ratio = tuple[int, int]
"""A rational number as terms carry it in attributes: numerator and denominator, in lowest terms."""


def positive(xp: ArrayModule, x: Array) -> Array:
    """max(x, 0)."""
    return xp.apply(RELU, x)


def step(xp: ArrayModule, x: Array) -> Array:
    """1 where x is positive, else 0."""
    return xp.apply(STEP, x)


def negated(xp: ArrayModule, x: Array) -> Array:
    """-x."""
    return xp.scale(x, Fraction(-1))


def magnitude(xp: ArrayModule, x: Array) -> Array:
    """|x|."""
    return xp.add(positive(xp, x), positive(xp, negated(xp, x)))


def maximum(xp: ArrayModule, x: Array, y: Array) -> Array:
    """The larger of two."""
    return xp.add(y, positive(xp, xp.subtract(x, y)))


def minimum(xp: ArrayModule, x: Array, y: Array) -> Array:
    """The smaller of two."""
    return xp.subtract(x, positive(xp, xp.subtract(x, y)))


def clipped(xp: ArrayModule, x: Array, low: Fraction | None, high: Fraction | None) -> Array:
    """max(x, low), then min with high, as far as they are given."""
    above = x if low is None else maximum(xp, x, xp.constant(low))
    return above if high is None else minimum(xp, above, xp.constant(high))


def compared(x: TensorType, y: TensorType) -> TensorType:
    """The type of what is true or false of every two elements."""
    return replace(broadcast(x, y), dtype=TRUTH)


def by_sign(op: Builder, x: Term, below: Term, above: Term) -> tuple[Term, ...]:
    """One value where x is below zero and another above, where they are equal at zero: all ways to say so."""
    zero = literal(0)
    return (
        op.apply("Where", (op.apply("Less", (x, zero), {}), below, above), {}),
        op.apply("Where", (op.apply("LessOrEqual", (x, zero), {}), below, above), {}),
        op.apply("Where", (op.apply("Less", (zero, x), {}), above, below), {}),
        op.apply("Where", (op.apply("LessOrEqual", (zero, x), {}), above, below), {}),
    )


def by_twos(op_type: str, since: int) -> Spelling:
    """The spelling of a binary operator whose ONNX node takes any number of operands, broadcasting since an opset.

    A node with more than two is read as one operator after the other.
    """

    def read(op: Builder, node: OnnxNode) -> Term | None:
        known = [one for one in node.inputs if one is not None]
        if len(known) < max(len(node.inputs), 2) or node.opset < since:
            return None
        return reduce(lambda x, y: op.apply(op_type, (x, y), {}), known)

    def write(term: Apply, context: WriteContext) -> OnnxCall | None:
        return OnnxCall(op_type, term.args) if context.opset >= since else None

    return Spelling((op_type,), read, write)


def fraction(value: Ratio) -> Fraction:
    """A rational parameter as a number."""
    return Fraction(*value)


def ratio(value: object) -> Ratio:
    """The simplest rational number that a float of the model rounds to: 1/6 for 0.16666667 in float32.

    Python floats count as float32, which is what ONNX keeps attributes in. ValueError for what is not finite.
    """
    found = simplest_fraction(np.asarray(value, None if isinstance(value, np.ndarray | np.generic) else np.float32))
    return found.numerator, found.denominator


def attribute_ratio(node: OnnxNode, name: str, default: float) -> Ratio:
    """A float attribute of a node as a rational number; beside doubles every digit of what a float32 holds counts."""
    value, kind = node.attribute(name, default), node.types[0]
    if kind is not None and kind.dtype == "float64":
        return Fraction(float(np.float32(value))).as_integer_ratio()
    return ratio(value)


def simplest_fraction(value: Array) -> Fraction:
    """The rational number of small denominator that rounds to the one element of a float array."""
    exact = value.item()
    if not np.isfinite(exact):
        raise ValueError(f"expected a finite number, found {exact}")
    whole = Fraction(exact)
    for digits in range(1, 12):
        near = whole.limit_denominator(10**digits)
        if value.dtype.type(float(near)) == exact:
            return near
    return whole
