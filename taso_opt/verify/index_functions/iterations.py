"""Recurrences over sequences of symbolic length.

A recurrence over one sequence after another goes on where the first one ended: that is what iterating means, so a
sequence is gone through piece by piece. A piece of a known number of elements is written out. Of the states after each
element of another nothing is known but that equal pieces, from equal states, with equal weights, have equal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from taso_opt.core.dims import Dim, Size, symbol
from taso_opt.spec.operator import Recurrence
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import Access, Element, lone
from taso_opt.verify.index_functions.elements import at as renamed
from taso_opt.verify.index_functions.layout import MAX_COPIES, length, places, plain
from taso_opt.verify.index_functions.tensors import Place, Tensor, within

if TYPE_CHECKING:
    from taso_opt.verify.index_functions.arrays import IndexArrays

AXIS = "axis"
"""What the place is called at which tensors are compared, with its number."""


def iterated(
    xp: IndexArrays, step: Recurrence, rows: Tensor, state: Sequence[Tensor], operands: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The states after each row, each with a new first axis: the pieces of the rows one after the other."""
    run: Any = step  # one meaning for arrays of all kinds
    found: list[tuple[Tensor, ...]] = []
    start: Dim = 0
    for segment in rows.layouts[0]:
        count = length((segment,))
        piece = xp.slice(rows, -len(rows.shape), start, start + count)
        if isinstance(count, int) and count <= MAX_COPIES:
            for place in range(count):
                state = run(xp, _row(xp, piece, place), tuple(state), tuple(operands))
                found.append(tuple(xp.reshape(one, (1, *one.shape)) for one in state))
        else:
            found.append(_unknown(xp, step, piece, state, operands))
            state = tuple(_row(xp, one, count - 1) for one in found[-1])
        start = start + count
    return tuple(xp.concatenate(parts, -len(parts[0].shape)) for parts in zip(*found, strict=True))


def _row(xp: IndexArrays, x: Tensor, place: Dim) -> Tensor:
    return xp.reshape(xp.slice(x, -len(x.shape), place, place + 1), x.shape[1:])


def _unknown(
    xp: IndexArrays, step: Recurrence, rows: Tensor, state: Sequence[Tensor], operands: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """States that are told apart by all that they depend on."""
    causes = step, len(state), *(_image(xp, tensor) for tensor in (rows, *state, *operands))
    known = xp.recurrences.setdefault(causes, len(xp.recurrences))
    return tuple(_states(f"state {at} of recurrence {known}", rows.shape[0], one) for at, one in enumerate(state))


def _states(name: str, count: Dim, state: Tensor) -> Tensor:
    shape = (count, *state.shape)

    def element(place: Place) -> Element:
        return lone(Access(name, within(shape, place)))

    return Tensor(shape, (plain(count), *state.layouts), element)


def _image(xp: IndexArrays, x: Tensor) -> tuple[tuple[Dim, ...], Element]:
    """The sizes of a tensor and its element at any place, the same for equal tensors as far as canonical forms are."""
    ((place, _),) = places(xp.facts, list(map(plain, x.shape)))
    names = {
        index.symbol: symbol(f"{AXIS} {axis}")
        for axis, index in enumerate(place)
        if isinstance(index, Size) and index.symbol is not None
    }
    return x.shape, canonical(renamed(canonical(x.at(place)), names))
