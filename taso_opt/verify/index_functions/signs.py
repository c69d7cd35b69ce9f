"""Functions of a number that say what they are of the opposite one, such as max(a, 0) = a + max(-a, 0).

And the positive part of what is never negative, which is all of it.
"""

from __future__ import annotations

from fractions import Fraction

from taso_opt.spec.shared.piecewise import RELU
from taso_opt.spec.shared.transcendental import SIGMOID
from taso_opt.verify.index_functions.canonical import apart, canonical
from taso_opt.verify.index_functions.elements import (
    ONE,
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
from taso_opt.verify.index_functions.squares import is_never_negative

FACTS = {
    RELU.name: f"{RELU.name}(a) = a + {RELU.name}(-a)",
    SIGMOID.name: f"{SIGMOID.name}(a) = 1 - {SIGMOID.name}(-a)",
}
"""Of a difference it depends on its order which of them stands there; a gate that keeps is one that lets pass."""


NEVER_NEGATIVE = f"{RELU.name}(a) = a where a is a sum of squares"


def with_one_sign(element: Element, used: dict[str, None] | None = None) -> Element:
    """The same value with such functions of an expression or of its opposite, the same one wherever either stands.

    The facts that this rests on are added to those that are `used`.
    """
    return canonical(added(ZERO, *(_turned(one, {} if used is None else used) for one in element.products)))


def _turned(one: Product, used: dict[str, None]) -> Element:
    others = (factor for factor in one.factors if not _is_whole(factor) and not _can_turn(factor))
    total = Element((Product(one.coefficient, one.bound, tuple(_inside(factor, used) for factor in others)),))
    for factor in one.factors:
        if isinstance(factor, Image) and _is_whole(factor):
            used[NEVER_NEGATIVE] = None
            total = multiplied(total, _apart_from(total, one, factor.argument))
        elif isinstance(factor, Image) and _can_turn(factor):
            used[FACTS[factor.function]] = None
            total = multiplied(total, _of_one_sign(factor))
    return total


def _apart_from(total: Element, one: Product, argument: Element) -> Element:
    """A sum that comes out of a function, with indices of its own beside all that it is multiplied with."""
    bound = (*one.bound, *(index for part in total.products for index in part.bound))
    factors = (*one.factors, *(factor for part in total.products for factor in part.factors))
    return apart(argument, Product(one.coefficient, bound, factors))


def _inside(factor: Factor, used: dict[str, None]) -> Factor:
    """The same within what another function is of."""
    if not isinstance(factor, Image):
        return factor
    return Image(factor.function, with_one_sign(factor.argument, used), factor.monotone)


def _is_whole(factor: Factor) -> bool:
    """Whether a factor is the positive part of what is never negative."""
    return isinstance(factor, Image) and factor.function == RELU.name and is_never_negative(factor.argument)


def _can_turn(factor: Factor) -> bool:
    """Whether a function is one of these; a positive part, only of something in which nothing is summed up."""
    if not isinstance(factor, Image) or factor.function not in FACTS:
        return False
    return factor.function != RELU.name or not any(one.bound for one in factor.argument.products)


def _of_one_sign(factor: Image) -> Element:
    argument = canonical(factor.argument)
    opposite = canonical(scaled(argument, Fraction(-1)))
    if repr(argument) <= repr(opposite):
        return lone(factor)
    turned = lone(Image(factor.function, opposite, factor.monotone))
    return added(argument, turned) if factor.function == RELU.name else added(ONE, scaled(turned, Fraction(-1)))
