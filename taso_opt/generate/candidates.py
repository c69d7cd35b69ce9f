"""Reads candidate equations off an enumeration: members of a class in pairs, and joined terms against their halves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from taso_opt.generate.enumerate import Batch, Enumeration, prefix_masks
from taso_opt.generate.fingerprint import Keys
from taso_opt.generate.sketch import Claim, Made
from taso_opt.generate.table import Application, Table


def claims(found: Enumeration, max_ops: int) -> Iterator[Claim]:
    """Every equation that the fingerprints of an enumeration suggest, over the variables of its pool.

    Each member of a class is paired with the representative of the class. A term whose halves along an axis are known
    is paired with them as an equation of two outputs; its split is not counted among the operators, since it only
    undoes the join inside the term.
    """
    allowed = prefix_masks(found.shard)
    for claim in _joined(found, max_ops):
        if allowed[_mask(found.table, claim.right)]:
            yield claim
    for known, made in (*found.equal, *_equal_last(found)):
        if allowed[_mask(found.table, known) | _mask(found.table, made)]:
            yield Claim((known,), made)


def _equal_last(found: Enumeration) -> Iterator[tuple[Made, Application]]:
    """Terms of the last level with what they equal: a kept class, or the first of their own."""
    if not found.last:
        return
    stored, nodes = found.table.keys()
    keys = np.concatenate([stored, *(batch.keys for batch in found.last)])
    starts = [0, *accumulate(len(batch.keys) for batch in found.last)]

    def application(row: int) -> Application:
        place = bisect_right(starts, row - len(stored)) - 1
        return found.last[place].application(row - len(stored) - starts[place])

    for first, other in _runs(keys):
        if other >= len(stored):
            yield int(nodes[first]) if first < len(stored) else application(first), application(other)


def _runs(keys: Keys) -> Iterator[tuple[int, int]]:
    """Every place whose key occurred before, with the first place of that key."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    same = np.all(keys[order[1:]] == keys[order[:-1]], axis=1)
    first = -1
    for at in np.flatnonzero(same).tolist():
        if at == 0 or not same[at - 1]:
            first = int(order[at])
        yield first, int(order[at + 1])


def _joined(found: Enumeration, max_ops: int) -> Iterator[Claim]:
    """Terms whose two halves along an axis are kept classes, with those and the split."""
    classes = found.table.classes
    known = np.sort(found.table.keys()[0][:, 0])
    levels: list[tuple[Batch, list[int] | None]] = [*found.kept, *((batch, None) for batch in found.last)]
    for batch, nodes in levels:
        for cut, heads, tails in batch.halves:
            for row in np.flatnonzero(_among(heads, known) & _among(tails, known)).tolist():
                if nodes is None and _key(batch.keys, row) in classes:
                    continue  # it says no more than the shorter term that it equals
                first, second = classes.get(_key(heads, row)), classes.get(_key(tails, row))
                if first is not None and second is not None:
                    claim = Claim((first, second), batch.application(row) if nodes is None else nodes[row], cut)
                    if _is_useful(found.table, claim, max_ops):
                        yield claim


def _is_useful(table: Table, claim: Claim, max_ops: int) -> bool:
    """Whether the halves say something else than the split itself, in few enough operators."""
    halves = [table.nodes[half] for half in claim.left if isinstance(half, int)]
    if len(halves[0].operators | halves[1].operators) > max_ops:
        return False
    made = [half.made for half in halves if isinstance(half.made, Application)]
    return not any(half.move is claim.cut and half.operands == (claim.right,) for half in made)


def _among(keys: Keys, known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    places = np.searchsorted(known, keys[:, 0])
    return np.asarray(known[np.minimum(places, len(known) - 1)] == keys[:, 0])


def _key(keys: Keys, row: int) -> tuple[int, int]:
    first, second = keys[row].tolist()
    return first, second


def _mask(table: Table, made: Made) -> int:
    if isinstance(made, int):
        return table.nodes[made].mask
    mask = 0
    for operand in made.operands:
        mask |= table.nodes[operand].mask
    return mask
