"""One level of an enumeration as plain data, and its evaluation: a pure function of that data and a range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from taso_opt.generate.enumeration.fingerprint import Keys, fingerprints, nonzero
from taso_opt.generate.enumeration.moves import Move
from taso_opt.generate.enumeration.table import Application, Bank, Nodes
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.devices import NUMPY, ArrayModule, array_module
from taso_opt.spec.operator import Array

BATCH_ELEMENTS = 1 << 19
"""How many elements of one operand are evaluated at once; bounds the memory of a batch."""

BATCH_ROWS = 1 << 18
"""How many operand tuples are looked at at once."""

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Cut:
    """A split of a result, and the numbers of the types of its parts."""

    move: Move
    kinds: tuple[int, int]


@dataclass(frozen=True)
class Block:
    """All tuples of one move over operands from some banks: every combination of rows, or the given pairs of rows.

    `kinds` are the types of the outputs, `cuts` the splits of a single output whose parts are worth knowing.
    """

    move: Move
    banks: tuple[int, ...]
    pairs: tuple[Rows, Rows] | None
    shape: tuple[int, ...]
    kinds: tuple[int, ...]
    cuts: tuple[Cut, ...] = ()

    def __len__(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Level:
    """Everything that the evaluation of one level depends on, ready to be sent to another process.

    `banks` are all terms kept so far. `allowed` tells for each set of variables whether terms over it are wanted (on
    the last level only, before it all are), `known` are the first words of all keys so far, sorted (there, too).
    `data` are the variables that count as data, as a bit mask, or 0 where a pool does not tell them apart. With `once`
    no variable stands twice in a term.
    """

    seed: int
    banks: tuple[Bank, ...]
    blocks: tuple[Block, ...]
    data: int
    once: bool = False
    allowed: NDArray[np.bool_] | None = None
    known: NDArray[np.uint64] | None = None
    array: str = NUMPY

    def __len__(self) -> int:
        return sum(map(len, self.blocks))


@dataclass(frozen=True)
class Range:
    """Tuples `start` to `stop` of a level, counted through its blocks; of their results those of one part of `parts`.

    Parts are ranges of keys, so that equal terms are always in the same one; `parts` is a power of two.
    """

    start: int
    stop: int
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class Halves:
    """The keys of both parts of a cut for some rows of a batch; `order` is what they are sorted by in any part."""

    move: Move
    rows: Rows
    order: Rows
    heads: Keys
    tails: Keys

    def only(self, rows: Rows) -> Halves:
        """For some rows of the batch, which are numbered anew."""
        places = np.searchsorted(self.rows, rows)
        return Halves(self.move, np.arange(len(rows)), self.order[places], self.heads[places], self.tails[places])


@dataclass(frozen=True)
class Batch:
    """One output of one move over many operand tuples; `first` is the place of the batch in its level."""

    first: int
    move: Move
    operands: Nodes
    item: int | None
    kind: int
    keys: Keys
    values: tuple[Array, ...]
    halves: tuple[Halves, ...]

    def application(self, row: int) -> Application:
        """One row as an application."""
        return Application(self.move, tuple(self.operands[row].tolist()), self.item)

    def only(self, rows: Rows) -> Batch:
        """Some rows, without their values."""
        halves = tuple(half.only(rows) for half in self.halves)
        return replace(self, operands=self.operands[rows], keys=self.keys[rows], values=(), halves=halves)


def ranges(total: int, size: int) -> list[Range]:
    """Consecutive ranges of at most `size` tuples."""
    return [Range(start, min(start + size, total)) for start in range(0, total, size)]


def evaluate(level: Level, chosen: Range) -> Iterator[Batch]:
    """The terms of a range in batches, without those that are zero everywhere; on the last level without values."""
    evaluation = _Evaluation(level, chosen)
    offset = 0
    for block in level.blocks:
        start, stop = max(chosen.start - offset, 0), min(chosen.stop - offset, len(block))
        for first in range(start, stop, BATCH_ROWS):
            yield from evaluation.batches(block, first, min(first + BATCH_ROWS, stop), offset + first)
        offset += len(block)


def is_empty(level: Level, block: Block) -> bool:
    """Whether no tuple of a block is wanted."""
    evaluation = _Evaluation(level, Range(0, 0))
    starts = range(0, len(block), BATCH_ROWS)
    return not any(len(evaluation.operands(block, start, min(start + BATCH_ROWS, len(block)))) for start in starts)


@dataclass(frozen=True)
class _Operands:
    """Operand tuples of one block: for each operand its bank and the rows taken from it."""

    banks: tuple[Bank, ...]
    rows: tuple[Rows, ...]

    def __len__(self) -> int:
        return len(self.rows[0])

    def part(self, chosen: NDArray[np.bool_] | slice) -> _Operands:
        return _Operands(self.banks, tuple(rows[chosen] for rows in self.rows))

    def nodes(self) -> Nodes:
        """The nodes of each tuple, one row a tuple."""
        return np.stack([bank.nodes[rows] for bank, rows in zip(self.banks, self.rows, strict=True)], axis=1)

    def masks(self) -> list[Nodes]:
        """The variables that each operand of each tuple uses, as bit masks."""
        return [bank.masks[rows] for bank, rows in zip(self.banks, self.rows, strict=True)]


class _Evaluation:
    """The evaluation of ranges of one level with one array module."""

    def __init__(self, level: Level, chosen: Range) -> None:
        self._level, self._range = level, chosen
        self._module: ArrayModule = array_module(level.array)
        self._xp = ModularArrays(level.seed, self._module)
        self._moved: dict[tuple[int, int], Array] = {}

    def batches(self, block: Block, start: int, stop: int, place: int) -> Iterator[Batch]:
        """The results of some tuples of a block."""
        operands = self.operands(block, start, stop)
        largest = max(value[0].size for bank in operands.banks for value in bank.values)
        step = max(1, BATCH_ELEMENTS // largest)
        for first in range(0, len(operands), step):
            part = operands.part(slice(first, first + step))
            for item, values in enumerate(self._values(block, part)):
                yield self._batch(block, part, item, values, place + first)

    def operands(self, block: Block, start: int, stop: int) -> _Operands:
        """The wanted tuples of a range: commutative pairs once, data before weights."""
        banks = tuple(self._level.banks[bank] for bank in block.banks)
        if block.pairs is not None:
            return self._wanted(block, _Operands(banks, tuple(rows[start:stop] for rows in block.pairs)))
        operands = _Operands(banks, tuple(np.unravel_index(np.arange(start, stop), block.shape)))
        if block.move.operator.commutative and banks[0] is banks[1]:
            operands = operands.part(operands.rows[0] <= operands.rows[1])
        operands = self._wanted(block, operands)
        # Pairs that share operators have fewer than they seem to have: they were listed as pairs at a lower level.
        return operands.part(~_overlap(operands)) if len(banks) == 2 and banks[0].size and banks[1].size else operands

    def _wanted(self, block: Block, operands: _Operands) -> _Operands:
        """The tuples over wanted variables: data first and weights after, or weights alone, and none of them twice."""
        masks = operands.masks()
        wanted = np.ones(len(operands), np.bool_)
        if self._level.allowed is not None:
            wanted &= self._level.allowed[np.bitwise_or.reduce(masks)]
        if self._level.once:
            wanted &= np.bitwise_or.reduce(masks) == np.add.reduce(masks)
        if self._level.data and block.move.takes_data:
            first, *others = (mask & self._level.data for mask in masks)
            wanted &= np.logical_and.reduce([first != 0, *(other == 0 for other in others)])
        if self._level.data and block.move.operator.weights_only:
            wanted &= (np.bitwise_or.reduce(masks) & self._level.data) == 0
        return operands if wanted.all() else operands.part(wanted)

    def _values(self, block: Block, operands: _Operands) -> list[list[Array]]:
        """For each output its values at every shape set."""
        by_set = []
        for place, attributes in enumerate(block.move.concrete):
            arrays = [
                self._on_device(bank, place)[self._module.asarray(rows)]
                for bank, rows in zip(operands.banks, operands.rows, strict=True)
            ]
            result = block.move.operator.evaluate(self._xp, *arrays, **attributes)
            by_set.append(result if isinstance(result, tuple) else (result,))
        return [list(values) for values in zip(*by_set, strict=True)]

    def _on_device(self, bank: Bank, place: int) -> Array:
        if (bank.order, place) not in self._moved:
            self._moved[bank.order, place] = self._module.asarray(bank.values[place])
        return self._moved[bank.order, place]

    def _batch(self, block: Block, operands: _Operands, item: int, values: list[Array], place: int) -> Batch:
        chosen = np.flatnonzero(self._module.asnumpy(nonzero(values)))
        places = self._module.asarray(chosen)
        keys = self._keys([value[places] for value in values], block.kinds[item])
        if self._range.parts > 1:
            mine = _part_of(keys, self._range.parts) == self._range.part
            chosen, keys = chosen[mine], keys[mine]
        values = [value[self._module.asarray(chosen)] for value in values]
        halves = tuple(self._halves(cut, values, chosen) for cut in block.cuts if len(chosen))
        last = self._level.known is not None
        stored = () if last else tuple(map(self._module.asnumpy, values))
        nodes = operands.nodes()[chosen]
        number = item if len(block.kinds) > 1 else None
        return Batch(place, block.move, nodes, number, block.kinds[item], keys, stored, halves)

    def _keys(self, values: Sequence[Array], kind: int) -> Keys:
        keys: Keys = self._module.asnumpy(fingerprints(values, kind, self._module))
        return keys

    def _halves(self, cut: Cut, values: Sequence[Array], order: Rows) -> Halves:
        """The keys of both parts; on the last level only of rows where both are known."""
        parts = [
            cut.move.operator.evaluate(self._xp, value, **attributes)
            for value, attributes in zip(values, cut.move.concrete, strict=True)
        ]
        heads, tails = (self._keys(half, kind) for half, kind in zip(zip(*parts, strict=True), cut.kinds, strict=True))
        rows = np.arange(len(heads))
        if self._level.known is not None:
            rows = np.flatnonzero(_among(heads, self._level.known) & _among(tails, self._level.known))
        return Halves(cut.move, rows, order[rows], heads[rows], tails[rows])


def _part_of(keys: Keys, parts: int) -> NDArray[np.uint64]:
    """The number of the part that each key is in: its highest bits."""
    part: NDArray[np.uint64] = keys[:, 0] >> np.uint64(64 - (parts.bit_length() - 1))
    return part


def _among(keys: Keys, known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    places = np.searchsorted(known, keys[:, 0])
    return np.asarray(known[np.minimum(places, len(known) - 1)] == keys[:, 0])


def _overlap(operands: _Operands) -> NDArray[np.bool_]:
    """Which pairs have an operator in common."""
    left, right = (bank.operators[rows] for bank, rows in zip(operands.banks, operands.rows, strict=True))
    common = np.zeros(len(operands), np.bool_)
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            common |= left[:, i] == right[:, j]
    return common
