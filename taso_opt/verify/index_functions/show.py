"""Elements in words of mathematics, for the reasons that a failed proof gives."""

from __future__ import annotations

from taso_opt.core.dims import Dim, polynomial, terms_of
from taso_opt.verify.index_functions.elements import (
    Access,
    Amount,
    Bound,
    Delta,
    Element,
    Entry,
    Factor,
    Greatest,
    Guard,
    Image,
    Lowered,
    Product,
    Reciprocal,
)

LENGTH = 400


def shown(element: Element) -> str:
    """An element as text of bounded length."""
    text = _element(element)
    return text if len(text) <= LENGTH else text[:LENGTH] + "..."


def inequality(margin: Dim) -> str:
    """That a size is not negative, without minus signs: `k >= p+1`."""
    positive = polynomial(tuple((names, scale) for names, scale in terms_of(margin) if scale > 0))
    negative = polynomial(tuple((names, -scale) for names, scale in terms_of(margin) if scale < 0))
    return f"{positive} >= {negative}"


def _element(element: Element) -> str:
    return " + ".join(map(_product, element.products)) or "0"


def _product(one: Product) -> str:
    factors = [*map(_factor, one.factors)] or ["1"]
    scale = "" if one.coefficient == 1 else f"{one.coefficient} "
    return f"{scale}{_bound('sum', one.bound)}{' '.join(factors)}"


def _bound(name: str, bound: Bound) -> str:
    return f"{name}({', '.join(f'{index} < {size}' for index, size in bound)}) " if bound else ""


def _factor(factor: Factor) -> str:
    match factor:
        case Access(tensor, place):
            return f"{tensor}[{', '.join(map(str, place))}]"
        case Entry(table, place):
            return f"table of {list(table.numbers.shape)}[{', '.join(map(str, place))}]"
        case Amount(name):
            return name
        case Guard(margin):
            return f"({inequality(margin)})"
        case Delta(first, second):
            return f"({first} = {second})"
        case Image(function, argument):
            return f"{function}({_element(argument)})"
        case Lowered(margins, inner):
            return f"({_element(inner)} where {', '.join(map(inequality, margins))})"
        case Greatest(bound, inner):
            return f"({_bound('greatest', bound)}{_element(inner)})"
        case Reciprocal(inner):
            return f"1/({_element(inner)})"
