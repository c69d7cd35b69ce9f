"""Writes sizes of axes as Z3 integers, opening the quotients that type inference keeps as opaque symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import z3

from taso_opt.core.dims import Dim, Size, symbol

QUOTIENT = "floor(("


def write_dim(dim: Dim, write_symbol: Callable[[str], Any]) -> Any:
    """The Z3 integer of a size whose plain symbols `write_symbol` turns into integers."""
    if isinstance(dim, int):
        return z3.IntVal(dim)
    total: Any = None
    for monomial, coefficient in dim.terms:
        summand: Any = z3.IntVal(coefficient)
        for name in monomial:
            summand = summand * _write_symbol(name, write_symbol)
        total = summand if total is None else total + summand
    return total


def plain_symbols(dim: Dim) -> Iterator[str]:
    """The symbols of a size, those inside its quotients included."""
    if isinstance(dim, Size):
        for name in dim.symbols():
            if name.startswith(QUOTIENT):
                for part in quotient(name):
                    yield from plain_symbols(part)
            else:
                yield name


def _write_symbol(name: str, write_symbol: Callable[[str], Any]) -> Any:
    if not name.startswith(QUOTIENT):
        return write_symbol(name)
    dividend, divisor = quotient(name)
    return write_dim(dividend, write_symbol) / write_dim(divisor, write_symbol)


def quotient(name: str) -> tuple[Dim, Dim]:
    """Dividend and divisor of a symbol named `floor((a)/(b))`."""
    inner = name[len(QUOTIENT) : -len("))")]
    depth = 0
    for at, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return _read(inner[:at]), _read(inner[at + len(")/(") :])
    raise AssertionError(f"expected a quotient of two sizes, found {name}")


def _read(text: str) -> Dim:
    """Read what `str` of a size writes, quotients included."""
    total: Dim = 0
    for sign, summand in _parts(text, "+-"):
        product: Dim = -1 if sign == "-" else 1
        for _, factor in _parts(summand, "*"):
            product = (int(factor) if factor.isdecimal() else symbol(factor)) * product
        total = product + total if isinstance(product, Size) else total + product
    return total


def _parts(text: str, separators: str) -> Iterator[tuple[str, str]]:
    """The parts of a text between separators outside parentheses, each with the separator before it."""
    depth, start, before = 0, 0, ""
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and character in separators:
            if at > start:
                yield before, text[start:at]
            before, start = character, at + 1
    yield before, text[start:]
