"""What is never negative, whatever its unknowns are, as a sum of squares: x x - 2 x y + y y, summed over any index.

Z3 decides it over the reals for what is added up; a sum of what is never negative is not negative, however long it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import z3

from taso_opt.verify.index_functions.elements import Access, Bound, Element, Factor, Product, Sign

RESOURCE_LIMIT = 400_000
"""Z3's deterministic unit of work, half a second; a square takes a thousandth of it."""

MOST_PRODUCTS = 16
"""A square of a sum of four has ten."""


@cache
def is_never_negative(element: Element) -> bool:
    """Whether an element is at least 0 for all real values of its factors, of the signs that are known of them."""
    if len(element.products) > MOST_PRODUCTS:
        return False
    together: dict[Bound, list[Product]] = {}
    for one in element.products:
        together.setdefault(one.bound, []).append(one)
    return all(map(_are_never_negative, together.values()))


def _are_never_negative(products: Sequence[Product]) -> bool:
    """The same of what is summed up over equal indices."""
    numbers: dict[Factor, z3.ArithRef] = {}
    total = z3.RealVal(0)
    for one in products:
        value: z3.ArithRef = z3.Q(one.coefficient.numerator, one.coefficient.denominator)
        for factor in one.factors:
            value *= numbers.setdefault(factor, z3.Real(f"x{len(numbers)}"))
        total += value
    solver = z3.SimpleSolver()
    solver.set("rlimit", RESOURCE_LIMIT)
    solver.add(total < 0, *(number >= 0 for factor, number in numbers.items() if _has_sign(factor)))
    return bool(solver.check() == z3.unsat)


def _has_sign(factor: Factor) -> bool:
    return isinstance(factor, Access) and factor.sign is not Sign.ANY
