"""Takes out of a greatest element what does not change which one it is: shifts, positive factors, monotone functions.

Where every element is padding, which loses every comparison, the two sides need not agree: who uses this has to know
that no window is like that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from taso_opt.verify.index_functions.elements import (
    Access,
    Element,
    Factor,
    Greatest,
    Image,
    Lowered,
    Product,
    added,
    lone,
    multiplied,
    names_in_element,
    names_of,
    only_factor,
)

Wrap = Callable[[Element], Element]


def taken_out(greatest: Greatest) -> Element | None:
    """The same value with something outside of the greatest element; None when there is nothing to take out."""
    lowered = only_factor(greatest.inner)
    inner = lowered.inner if isinstance(lowered, Lowered) else greatest.inner

    def wrapped(content: Element) -> Element:
        left = lone(Lowered(lowered.margins, content)) if isinstance(lowered, Lowered) else content
        return lone(Greatest(greatest.bound, left))

    if not greatest.bound:
        return None
    image = only_factor(inner)
    if isinstance(image, Image):
        return lone(Image(image.function, wrapped(image.argument), True)) if image.monotone else None
    names = {name for name, _ in greatest.bound}
    if len(inner.products) == 1:
        return _without_factors(inner.products[0], names, wrapped)
    fixed = tuple(one for one in inner.products if not names & names_in_element(Element((one,))))
    moving = tuple(one for one in inner.products if one not in fixed)
    return added(wrapped(Element(moving)), Element(fixed)) if fixed and moving else None


def _without_factors(one: Product, names: set[str], wrapped: Wrap) -> Element | None:
    """The product of what is known not to be negative, and the same everywhere, with the greatest of the rest."""
    outside = tuple(factor for factor in one.factors if _is_scale(factor, names))
    inside = tuple(factor for factor in one.factors if factor not in outside)
    if one.bound or one.coefficient <= 0 or not inside or (not outside and one.coefficient == 1):
        return None
    scale = Element((Product(one.coefficient, (), outside),))
    return multiplied(scale, wrapped(Element((Product(Fraction(1), (), inside),))))


def _is_scale(factor: Factor, names: set[str]) -> bool:
    return isinstance(factor, Access) and factor.nonnegative and not names & names_of(factor)
