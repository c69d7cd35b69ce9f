"""Writes sizes of axes as Z3 integers, opening the quotients that type inference keeps as opaque symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import z3

from taso_opt.core.dims import Dim
from taso_opt.core.quotients import QUOTIENT, quotient, symbols_below
from taso_opt.verify.lookups import lookup


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
    """The symbols of a size, those inside its quotients and of places that it looks up in their place."""
    for name in symbols_below(dim):
        told = lookup(name)
        if told is None:
            yield name
        else:
            for index in told.indices:
                yield from plain_symbols(index)


def _write_symbol(name: str, write_symbol: Callable[[str], Any]) -> Any:
    if not name.startswith(QUOTIENT):
        return write_symbol(name)
    dividend, divisor = quotient(name)
    return write_dim(dividend, write_symbol) / write_dim(divisor, write_symbol)
