"""Enumerates the terms of one shard bottom-up with one representative for each fingerprint (paper, section 2.3.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.generate.enumeration.level import Batch, Block, Cut, Level, Range, Rows, evaluate, is_empty, ranges
from taso_opt.generate.enumeration.moves import SPLIT, Move, Shard, moves, split_moves
from taso_opt.generate.enumeration.table import Application, Bank, Table
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.devices import NUMPY
from taso_opt.semantics.instances import instantiate_attribute
from taso_opt.spec.operator import Operator

RANGE_ROWS = 1 << 20
"""How many operand tuples of a level one piece of work has."""

Spread = Callable[[Level, Sequence[Range]], Iterable[Iterable[Batch]]]
"""Evaluates ranges of a level, here or elsewhere, and returns the batches of each, in order."""


class TooLarge(Exception):
    """A level has more operand tuples than one process should evaluate."""


@dataclass(frozen=True)
class Effort:
    """How an enumeration is carried out, which changes nothing of what it finds.

    `spread` evaluates the ranges of a level. A level of more than `most_rows` operand tuples raises TooLarge. The last
    level is evaluated again for each part of its keys, so many that a part has about `part_rows` tuples.
    """

    spread: Spread = lambda level, pieces: (evaluate(level, piece) for piece in pieces)
    most_rows: int | None = None
    part_rows: int = 1 << 26
    array: str = NUMPY


HERE = Effort()


@dataclass(frozen=True)
class Counts:
    """What one level of an enumeration gave: how many terms were evaluated and how many new classes they made."""

    size: int
    terms: int
    classes: int


@dataclass
class Enumeration:
    """The classes of a shard and the equal applications met on the way; the last level is not kept."""

    shard: Shard
    moves: list[Move]
    effort: Effort = HERE
    table: Table = field(default_factory=Table)
    equal: list[tuple[int, Application]] = field(default_factory=list)
    kept: list[tuple[Batch, list[int]]] = field(default_factory=list)
    last: Level | None = None
    levels: list[Counts] = field(default_factory=list)

    def last_parts(self) -> Iterator[list[Batch]]:
        """The terms of the last level, those with equal keys together; evaluated anew each time."""
        if self.last is None:
            return
        pieces = ranges(len(self.last), RANGE_ROWS)
        parts = 1
        while len(self.last) > parts * self.effort.part_rows:
            parts *= 2
        terms = 0
        for part in range(parts):
            chosen = [Range(piece.start, piece.stop, part, parts) for piece in pieces]
            batches = [batch for found in self.effort.spread(self.last, chosen) for batch in found]
            terms += sum(len(batch.keys) for batch in batches)
            yield batches
        self.levels[-1] = Counts(self.levels[-1].size, terms, 0)


def enumerate_terms(
    shard: Shard, operators: Mapping[str, Operator], max_ops: int, seed: int, effort: Effort = HERE
) -> Enumeration:
    """All terms of at most `max_ops` operators over the variables of a shard; those of the last level on demand.

    Raises TooLarge when a level exceeds what the effort allows.
    """
    return _Enumerator(shard, operators, seed, effort).run(max_ops)


class _Enumerator:
    """The state of one enumeration."""

    def __init__(self, shard: Shard, operators: Mapping[str, Operator], seed: int, effort: Effort) -> None:
        self._shard, self._operators, self._seed = shard, operators, seed
        data = sum(
            1 << place
            for place, variable in enumerate(shard.variables)
            if variable.name not in shard.pool.weights and variable.type.rank
        )
        self._data = data if shard.pool.weights else 0
        self._moves = moves(shard, operators)
        self._result = Enumeration(shard, self._moves, effort)
        self._table = self._result.table
        self._kinds: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        self._cuts: dict[int, list[Move]] = {}

    def run(self, max_ops: int) -> Enumeration:
        self._add_variables()
        for size in range(1, max_ops + 1):
            level = self._level(size, last=size == max_ops)
            most = self._result.effort.most_rows
            if most is not None and len(level) > most:
                raise TooLarge
            if size == max_ops:
                self._result.last = level
                self._result.levels.append(Counts(size, 0, 0))
            else:
                self._grow(size, level)
        return self._result

    def _grow(self, size: int, level: Level) -> None:
        """Evaluate a level and keep one term of each new class."""
        terms, before = 0, len(self._table.nodes)
        for batches in self._result.effort.spread(level, ranges(len(level), RANGE_ROWS)):
            for batch in batches:
                terms += len(batch.keys)
                self._keep(batch)
        self._table.close_level(size)
        self._result.levels.append(Counts(size, terms, len(self._table.nodes) - before))

    def _add_variables(self) -> None:
        generator = np.random.default_rng([self._seed, 1])
        pool = self._shard.pool
        for place, variable in enumerate(self._shard.variables):
            shapes = [concrete_shape(variable.type.shape, sizes) for sizes in pool.sizes]
            values = [ModularArrays(self._seed).random(generator, (1, *shape)) for shape in shapes]
            self._table.add_variable(place, variable.type, values)
        self._table.close_level(0)

    def _keep(self, batch: Batch) -> None:
        """Make a node of every application whose class is new; note the others as equal to what is known."""
        rows, nodes = [], []
        for row, key in enumerate(map(tuple, batch.keys.tolist())):
            made = batch.application(row)
            node = self._table.add(made, batch.kind, key)
            if node is None:
                self._result.equal.append((self._table.classes[key], made))
            else:
                rows.append(row)
                nodes.append(node)
        chosen = np.array(rows, np.intp)
        self._table.add_values(batch.kind, nodes, tuple(value[chosen] for value in batch.values))
        if batch.halves and nodes:
            self._result.kept.append((batch.only(chosen), nodes))

    def _level(self, size: int, last: bool) -> Level:
        """What the evaluation of the terms of one size depends on."""
        allowed = prefix_masks(self._shard) if last else None
        known = np.sort(self._table.keys()[0][:, 0]) if last else None
        banks = tuple(self._table.banks)
        once = self._shard.pool.deeper > 0
        level = Level(self._seed, banks, (), self._data, once, allowed, known, self._result.effort.array)
        blocks = (self._with_cuts(block) for block in self._blocks(size) if not is_empty(level, block))
        return replace(level, blocks=tuple(blocks))

    def _blocks(self, size: int) -> Iterator[Block]:
        """Every application of `size` operators to kept terms.

        Splits come last, so that a class is represented by a split only where nothing else of its size says the same.
        """
        for step, move in enumerate(self._moves):
            for banks in self._signatures(step, move, size):
                yield self._block(move, banks, self._outputs(step, move, banks))
        for banks, rows in self._sharing(size - 1):
            for step, move in enumerate(self._moves):
                if move.arity == 2 and self._outputs(step, move, banks):
                    chosen = _in_order(banks, rows) if move.operator.commutative else rows
                    yield self._block(move, banks, self._outputs(step, move, banks), chosen)
        for bank in self._table.of_size(size - 1):
            for cut in self._cuts_of(bank.kind):
                yield self._block(cut, (bank,), self._inferred(cut, (bank,)))

    def _block(
        self, move: Move, banks: Sequence[Bank], kinds: tuple[int, ...], pairs: tuple[Rows, Rows] | None = None
    ) -> Block:
        shape = tuple(map(len, banks)) if pairs is None else (len(pairs[0]),)
        return Block(move, tuple(bank.order for bank in banks), pairs, shape, kinds)

    def _with_cuts(self, block: Block) -> Block:
        """A block with the splits of its result whose parts are worth knowing: those of a join are what was joined."""
        move = block.move
        if move.operator.outputs > 1:
            return block
        is_join = move.joins and any(self._table.banks[bank].size for bank in block.banks)
        joined = dict(move.attributes).get("axis") if is_join else None
        cuts = [cut for cut in self._cuts_of(block.kinds[0]) if dict(cut.attributes)["axis"] != joined]
        return replace(block, cuts=tuple(Cut(cut, self._halves(cut, block.kinds[0])) for cut in cuts))

    def _halves(self, cut: Move, kind: int) -> tuple[int, int]:
        first, second = cut.operator.result_types([self._table.kinds[kind]], dict(cut.attributes))
        return self._table.kind_of(first), self._table.kind_of(second)

    def _signatures(self, step: int, move: Move, size: int) -> Iterator[tuple[Bank, ...]]:
        for sizes in product(range(size), repeat=move.arity):
            if sum(sizes) != size - 1:
                continue
            for banks in product(*map(self._table.of_size, sizes)):
                in_order = not move.operator.commutative or banks[0].order <= banks[1].order
                if in_order and self._outputs(step, move, banks):
                    yield banks

    def _outputs(self, step: int, move: Move, banks: Sequence[Bank]) -> tuple[int, ...]:
        """The types of a move's outputs, none where it does not type-check."""
        kinds = tuple(bank.kind for bank in banks)
        if (step, kinds) not in self._kinds:
            self._kinds[step, kinds] = self._inferred(move, banks)
        return self._kinds[step, kinds]

    def _inferred(self, move: Move, banks: Sequence[Bank]) -> tuple[int, ...]:
        try:
            types = [self._table.kinds[bank.kind] for bank in banks]
            results = move.operator.result_types(types, dict(move.attributes))
            for place, attributes in enumerate(move.concrete):
                shapes = [TensorType(REAL, bank.values[place].shape[1:]) for bank in banks]
                move.operator.result_types(shapes, attributes)
        except TypeMismatch:
            return ()
        return tuple(map(self._table.kind_of, results))

    def _sharing(self, total: int) -> Iterator[tuple[tuple[Bank, Bank], tuple[Rows, Rows]]]:
        """Pairs of terms that have operators in common and `total` of them together."""
        groups: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for pair in self._table.sharing_pairs(total):
            (left, first), (right, second) = (self._table.places[node] for node in pair)
            groups[left, right].append((first, second))
        for (left, right), members in sorted(groups.items()):
            first_rows, second_rows = np.array(members, np.intp).T
            yield (self._table.banks[left], self._table.banks[right]), (first_rows, second_rows)

    def _cuts_of(self, kind: int) -> list[Move]:
        """The splits that a type allows."""
        if kind not in self._cuts:
            operator = self._operators.get(SPLIT)
            if operator is None or SPLIT not in self._shard.operators:
                self._cuts[kind] = []
            else:
                self._cuts[kind] = split_moves(self._table.kinds[kind], operator, self._shard.pool)
        return self._cuts[kind]


def prefix_masks(shard: Shard) -> NDArray[np.bool_]:
    """For each set of variables, as a bit mask, whether it takes a prefix of every group of interchangeable ones."""
    groups: dict[object, list[int]] = defaultdict(list)
    for place, variable in enumerate(shard.variables):
        groups[variable.type].append(place)
    masks = np.arange(1 << len(shard.variables))
    allowed = np.ones(len(masks), np.bool_)
    for places in groups.values():
        for earlier, later in pairwise(places):
            allowed &= ((masks >> later) & 1) <= ((masks >> earlier) & 1)
    return allowed


def concrete_shape(shape: tuple[object, ...], sizes: Mapping[str, int | tuple[int, ...]]) -> tuple[int, ...]:
    """A symbolic shape at one shape set."""
    spliced = instantiate_attribute(tuple(shape), sizes)  # type: ignore[arg-type]
    assert isinstance(spliced, tuple)
    return tuple(int(dim) for dim in spliced)  # type: ignore[arg-type]


def _in_order(banks: Sequence[Bank], rows: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
    """Pairs of a commutative operator once."""
    first, second = (bank.nodes[chosen] for bank, chosen in zip(banks, rows, strict=True))
    kept = first <= second
    return rows[0][kept], rows[1][kept]
