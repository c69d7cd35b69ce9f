"""Terms as plain lists that JSON can hold, and back: what many terms share is written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from taso_opt.core.dims import Size
from taso_opt.core.term import Apply, Attribute, Attributes, Const, Item, Term, Var, postorder
from taso_opt.core.types import TensorType

Row: TypeAlias = list[Any]
"""One term: its kind, the places of its children in the list, and what else it is made of."""

VAR, CONST, APPLY, ITEM = "var", "const", "apply", "item"


def encoded(roots: Iterable[Term]) -> tuple[list[Row], dict[Term, int]]:
    """Rows of all terms below some roots, children before parents, and the place of each term among them."""
    places: dict[Term, int] = {}
    rows: list[Row] = []
    for term in postorder(roots):
        places[term] = len(rows)
        rows.append(_row(term, [places[child] for child in term.children]))
    return rows, places


def decoded(rows: Iterable[Row]) -> list[Term]:
    """The terms of rows. Raises ValueError, TypeError, KeyError or IndexError for what are none."""
    terms: list[Term] = []
    for kind, children, *rest in rows:
        terms.append(_term(kind, [terms[place] for place in children], rest))
    return terms


def _row(term: Term, children: list[int]) -> Row:
    if isinstance(term, Apply):
        return [APPLY, children, term.operator, {name: _plain(value) for name, value in term.attributes}]
    if isinstance(term, Item):
        return [ITEM, children, term.index]
    return [VAR if isinstance(term, Var) else CONST, children, term.name, _plain(term.type)]


def _term(kind: str, children: list[Term], rest: Row) -> Term:
    if kind == APPLY:
        operator, attributes = rest
        return Apply(operator, tuple(children), _attributes(attributes))
    if kind == ITEM:
        (of,), (index,) = children, rest
        if not isinstance(of, Apply):
            raise ValueError(f"expected an operator of which this is one output, found {of!r}")
        return Item(of, index)
    name, value = rest
    found = _attribute(value)
    if kind not in (VAR, CONST) or not isinstance(found, TensorType):
        raise ValueError(f"expected a variable or a constant and its type, found {kind} {name} of {found!r}")
    return Var(name, found) if kind == VAR else Const(name, found)


def _plain(value: Attribute) -> Any:
    """Sizes and types as objects with one field, whose name says which they are; tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Size):
        return {"size": value.terms}
    return {"type": [value.dtype, *map(_plain, value.shape)]} if isinstance(value, TensorType) else value


def _attributes(values: Mapping[str, Any]) -> Attributes:
    return tuple((name, _attribute(value)) for name, value in values.items())


def _attribute(value: Any) -> Attribute:
    if isinstance(value, list):
        return tuple(map(_attribute, value))
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    ((kind, parts),) = value.items()
    if kind == "size":
        return Size(tuple((tuple(monomial), factor) for monomial, factor in parts))
    dtype, *shape = parts
    return TensorType(dtype, tuple(map(_attribute, shape)))  # type: ignore[arg-type]
