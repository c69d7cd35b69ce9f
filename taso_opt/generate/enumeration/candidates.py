"""Reads candidate equations off an enumeration: members of a class in pairs, and joined terms against their halves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from taso_opt.generate.enumeration.enumerate import Enumeration, prefix_masks
from taso_opt.generate.enumeration.fingerprint import Keys
from taso_opt.generate.enumeration.level import Batch
from taso_opt.generate.enumeration.sketch import Claim, Made
from taso_opt.generate.enumeration.table import Application, Nodes, Table


def claims(found: Enumeration, max_ops: int) -> Iterator[Claim]:
    """Every equation that the fingerprints of an enumeration suggest, over the variables of its pool.

    Each member of a class is paired with the representative of the class. A term whose halves along an axis are known
    is paired with them as an equation of two outputs; its split is not counted among the operators, since it only
    undoes the join inside the term.
    """
    allowed = prefix_masks(found.shard)
    joined = list(_joined(found.table, found.kept, max_ops))
    for known, made in found.equal:
        if allowed[_mask(found.table, known) | _mask(found.table, made)]:
            yield Claim((known,), made)
    stored, nodes = found.table.keys()
    for last in found.last_parts():
        joined += _joined(found.table, [(batch, None) for batch in last], max_ops)
        for first, other in _equal_last(stored, nodes, last):
            if allowed[_mask(found.table, first) | _mask(found.table, other)]:
                yield Claim((first,), other)
    for _, claim in sorted(joined, key=lambda one: one[0]):
        if allowed[_mask(found.table, claim.right)]:
            yield claim


def _equal_last(stored: Keys, nodes: Nodes, last: Sequence[Batch]) -> Iterator[tuple[Made, Application]]:
    """Terms of the last level with what they equal: a kept class, or the first of their own."""
    keys = np.concatenate([stored, *(batch.keys for batch in last)])
    starts = [0, *accumulate(len(batch.keys) for batch in last)]

    def application(row: int) -> Application:
        place = bisect_right(starts, row - len(stored)) - 1
        return last[place].application(row - len(stored) - starts[place])

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


def _joined(
    table: Table, batches: Sequence[tuple[Batch, list[int] | None]], max_ops: int
) -> Iterator[tuple[tuple[int, ...], Claim]]:
    """Terms whose two halves along an axis are kept classes, with those and the split; each after its place."""
    classes = table.classes
    for place, (batch, nodes) in enumerate(batches):
        for number, half in enumerate(batch.halves):
            for at, row in enumerate(half.rows.tolist()):
                first, second = classes.get(_key(half.heads, at)), classes.get(_key(half.tails, at))
                known = None if nodes is not None else classes.get(_key(batch.keys, row))
                if known is not None and not _is_join(table.nodes[known].made, first, second):
                    continue  # it says no more than the shorter term that it equals
                if first is not None and second is not None:
                    claim = Claim((first, second), batch.application(row) if nodes is None else nodes[row], half.move)
                    if _is_useful(table, claim, max_ops):
                        level = (0, place) if nodes is not None else (1, batch.first)
                        yield (*level, number, int(half.order[at])), claim


def _is_join(made: Made, *parts: int | None) -> bool:
    """Whether a term is the join of these, of which everything is said that is said of them apart."""
    return isinstance(made, Application) and made.move.joins and made.operands == parts


def _is_useful(table: Table, claim: Claim, max_ops: int) -> bool:
    """Whether the halves say something else than the split itself, in few enough operators."""
    halves = [table.nodes[half] for half in claim.left if isinstance(half, int)]
    if len(halves[0].operators | halves[1].operators) > max_ops:
        return False
    made = [half.made for half in halves if isinstance(half.made, Application)]
    return not any(half.move is claim.cut and half.operands == (claim.right,) for half in made)


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
