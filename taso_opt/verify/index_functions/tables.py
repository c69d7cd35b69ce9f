"""Sums over tables of numbers: what only tables depend on is added up, and what is left is written out term by term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taso_opt.verify.index_functions.elements import MAX_TERMS, Element, Entry, Product, Table, factor_at, names_of
from taso_opt.verify.index_functions.indices import names_in


def table_of(values: NDArray[Any]) -> Table:
    """A table of rational numbers."""
    denominator = lcm(*(value.denominator for value in values.flat))
    numbers = [int(value * denominator) for value in values.flat]
    return Table(np.array(numbers, dtype=object).reshape(values.shape), denominator)


def without_tables(one: Product) -> Iterator[Product]:
    """The same as products without tables, as far as these depend on literal numbers of places alone."""
    tables = [factor for factor in one.factors if isinstance(factor, Entry)]
    others = tuple(factor for factor in one.factors if not isinstance(factor, Entry))
    sizes = {name: size for name, size in one.bound if isinstance(size, int)}
    names = list(dict.fromkeys(name for table in tables for name in sorted(names_of(table))))
    if not tables or not all(_is_told(table, sizes) for table in tables):
        yield one
        return
    kept = [name for name in names if any(name in names_of(factor) for factor in others)]
    order = {name: at for at, name in enumerate(names)}
    total = _contracted(tables, order, [order[name] for name in kept])
    bound = tuple(pair for pair in one.bound if pair[0] not in order)
    for place in np.argwhere(total.numbers != 0):
        at = dict(zip(kept, map(int, place), strict=True))
        coefficient = one.coefficient * Fraction(total.numbers[tuple(place)], total.denominator)
        yield Product(coefficient, bound, tuple(factor_at(factor, at) for factor in others))


def written_out(element: Element, most: int) -> Element:
    """The element with sums over literal numbers of places, of at most so many, written out; as it is if too long."""
    if sum(prod(_few(one, most).values()) for one in element.products) > MAX_TERMS:
        return element
    return Element(tuple(part for one in element.products for part in _written_out(one, most)))


def _few(one: Product, most: int) -> dict[str, int]:
    return {name: size for name, size in one.bound if isinstance(size, int) and size <= most}


def _written_out(one: Product, most: int) -> Iterator[Product]:
    few = _few(one, most)
    rest = tuple(pair for pair in one.bound if pair[0] not in few)
    for values in product(*map(range, few.values())):
        at = dict(zip(few, values, strict=True))
        yield Product(one.coefficient, rest, tuple(factor_at(factor, at) for factor in one.factors))


def _is_told(entry: Entry, sizes: Mapping[str, int]) -> bool:
    """Whether each index of a table is a number of its axis, or runs over all of this and nothing else."""
    return all(
        0 <= index < size if isinstance(index, int) else sizes.get(index.symbol or "") == size
        for index, size in zip(entry.place, entry.table.numbers.shape, strict=True)
    )


def _contracted(tables: Sequence[Entry], axes: Mapping[str, int], kept: Sequence[int]) -> Table:
    """The product of tables, summed over the axes that are not kept."""
    operands: list[Any] = []
    for entry in tables:
        fixed = tuple(index if isinstance(index, int) else slice(None) for index in entry.place)
        # NumPy takes Python's whole numbers, which have no bounds, for its own, which overflow, unless it is told.
        numbers = np.asarray(entry.table.numbers[fixed], dtype=object)
        operands += [numbers, [axes[name] for index in entry.place for name in names_in(index)]]
    numbers = np.asarray(np.einsum(*operands, list(kept), optimize=False), dtype=object)
    return Table(numbers, prod(entry.table.denominator for entry in tables))
