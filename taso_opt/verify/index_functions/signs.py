"""Positive parts of differences, of which either operand may be taken off the other: max(a, 0) = a + max(-a, 0)."""

from __future__ import annotations

from fractions import Fraction

from taso_opt.spec.piecewise import RELU
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import (
    ZERO,
    Element,
    Factor,
    Image,
    Product,
    added,
    lone,
    multiplied,
    scaled,
)

FACT = f"{RELU.name}(a) = a + {RELU.name}(-a)"


def with_one_sign(element: Element) -> Element:
    """The same value with the positive part of an expression or of its opposite, the same one wherever either stands.

    Which of two numbers a maximum is the one plus the positive part of the difference of, depends on their order.
    """
    return canonical(added(ZERO, *(_turned(one) for one in element.products)))


def _turned(one: Product) -> Element:
    others = tuple(factor for factor in one.factors if not _is_positive_part(factor))
    total = Element((Product(one.coefficient, one.bound, others),))
    for factor in one.factors:
        if _is_positive_part(factor):
            total = multiplied(total, _of_one_sign(factor))
    return total


def _is_positive_part(factor: Factor) -> bool:
    """Whether a factor is the positive part of something in which nothing is summed up."""
    if not isinstance(factor, Image) or factor.function != RELU.name:
        return False
    return not any(one.bound for one in factor.argument.products)


def _of_one_sign(factor: Factor) -> Element:
    assert isinstance(factor, Image)
    argument = canonical(factor.argument)
    opposite = canonical(scaled(argument, Fraction(-1)))
    if repr(argument) <= repr(opposite):
        return lone(factor)
    return added(argument, lone(Image(factor.function, opposite, factor.monotone)))
