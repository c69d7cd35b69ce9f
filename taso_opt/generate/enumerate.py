"""Enumerates the terms of one shard bottom-up with one representative for each fingerprint (paper, section 2.3.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.generate.fingerprint import Keys, fingerprints, nonzero
from taso_opt.generate.moves import SPLIT, Move, Shard, moves, split_moves
from taso_opt.generate.table import Application, Bank, Nodes, Table
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.instances import instantiate_attribute
from taso_opt.spec.operator import Array, Operator

BATCH_ELEMENTS = 1 << 19
"""How many elements of one operand are evaluated at once; bounds the memory of a batch."""


@dataclass(frozen=True)
class Operands:
    """Operand tuples of one signature: for each operand its bank and the rows taken from it."""

    banks: tuple[Bank, ...]
    rows: tuple[NDArray[np.intp], ...]

    def __len__(self) -> int:
        return len(self.rows[0])

    def part(self, chosen: NDArray[np.bool_] | slice) -> Operands:
        """Some of the tuples."""
        return Operands(self.banks, tuple(rows[chosen] for rows in self.rows))

    def nodes(self) -> Nodes:
        """The nodes of each tuple, one row a tuple."""
        return np.stack([bank.nodes[rows] for bank, rows in zip(self.banks, self.rows, strict=True)], axis=1)

    def masks(self) -> Nodes:
        """The variables that each tuple uses, as bit masks."""
        masks = [bank.masks[rows] for bank, rows in zip(self.banks, self.rows, strict=True)]
        return np.asarray(np.bitwise_or.reduce(masks))


@dataclass(frozen=True)
class Batch:
    """One output of one move over many operand tuples: its keys, its values, and the keys of both parts of its cuts."""

    move: Move
    operands: Nodes
    item: int | None
    kind: int
    keys: Keys
    values: tuple[Array, ...]
    halves: tuple[tuple[Move, Keys, Keys], ...]

    def application(self, row: int) -> Application:
        """One row as an application."""
        return Application(self.move, tuple(self.operands[row].tolist()), self.item)

    def only(self, rows: NDArray[np.intp]) -> Batch:
        """Some rows, without their values."""
        halves = tuple((cut, first[rows], second[rows]) for cut, first, second in self.halves)
        return Batch(self.move, self.operands[rows], self.item, self.kind, self.keys[rows], (), halves)


@dataclass(frozen=True)
class Level:
    """What one level of an enumeration gave: how many terms were evaluated and how many new classes they made."""

    size: int
    terms: int
    classes: int


@dataclass
class Enumeration:
    """The classes of a shard, the equal applications met on the way and the last level, which is not kept."""

    shard: Shard
    moves: list[Move]
    table: Table = field(default_factory=Table)
    equal: list[tuple[int, Application]] = field(default_factory=list)
    kept: list[tuple[Batch, list[int]]] = field(default_factory=list)
    last: list[Batch] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)


def enumerate_terms(shard: Shard, operators: Mapping[str, Operator], max_ops: int, seed: int) -> Enumeration:
    """All terms of at most `max_ops` operators over the variables of a shard."""
    return _Enumerator(shard, operators, seed).run(max_ops)


class _Enumerator:
    """The state of one enumeration."""

    def __init__(self, shard: Shard, operators: Mapping[str, Operator], seed: int) -> None:
        self._shard, self._operators, self._seed = shard, operators, seed
        self._data = sum(
            1 << place
            for place, variable in enumerate(shard.variables)
            if variable.name not in shard.pool.weights and variable.type.rank
        )
        self._xp = ModularArrays(seed)
        self._moves = moves(shard, operators)
        self._result = Enumeration(shard, self._moves)
        self._table = self._result.table
        self._kinds: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        self._cuts: dict[int, list[Move]] = {}

    def run(self, max_ops: int) -> Enumeration:
        self._add_variables()
        allowed = prefix_masks(self._shard)
        for size in range(1, max_ops + 1):
            last = size == max_ops
            terms = 0
            before = len(self._table.nodes)
            for move, operands in self._candidates(size):
                chosen = operands.part(allowed[operands.masks()]) if last else operands
                for batch in self._evaluate(move, chosen):
                    terms += len(batch.keys)
                    if last:
                        self._result.last.append(replace(batch, values=()))
                    else:
                        self._keep(batch)
            self._table.close_level(size)
            self._result.levels.append(Level(size, terms, len(self._table.nodes) - before))
        return self._result

    def _add_variables(self) -> None:
        generator = np.random.default_rng([self._seed, 1])
        pool = self._shard.pool
        for place, variable in enumerate(self._shard.variables):
            shapes = [concrete_shape(variable.type.shape, sizes) for sizes in pool.sizes]
            values = [self._xp.random(generator, (1, *shape)) for shape in shapes]
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

    def _candidates(self, size: int) -> Iterator[tuple[Move, Operands]]:
        """Every application of `size` operators to kept terms.

        Splits come last, so that a class is represented by a split only where nothing else of its size says the same.
        """
        for step, move in enumerate(self._moves):
            for banks in self._signatures(step, move, size):
                operands = self._tuples(move, banks)
                if len(operands):
                    yield move, operands
        for operands in self._sharing(size - 1):
            for step, move in enumerate(self._moves):
                if move.arity == 2 and self._outputs(step, move, operands.banks):
                    chosen = _in_order(operands) if move.operator.commutative else operands
                    yield move, chosen.part(self._in_role(move, chosen))
        for bank in self._table.of_size(size - 1):
            for cut in self._cuts_of(bank.kind):
                yield cut, Operands((bank,), (np.arange(len(bank)),))

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

    def _tuples(self, move: Move, banks: tuple[Bank, ...]) -> Operands:
        """All operand tuples of one signature, commutative pairs once, data before weights."""
        grids = np.meshgrid(*(np.arange(len(bank)) for bank in banks), indexing="ij")
        operands = Operands(banks, tuple(grid.reshape(-1) for grid in grids))
        if move.operator.commutative and banks[0] is banks[1]:
            operands = operands.part(operands.rows[0] <= operands.rows[1])
        operands = operands.part(self._in_role(move, operands))
        # Pairs that share operators have fewer than they seem to have: `_sharing` gave them at a lower level.
        return operands.part(~_overlap(operands)) if len(banks) == 2 and banks[0].size and banks[1].size else operands

    def _in_role(self, move: Move, operands: Operands) -> NDArray[np.bool_]:
        """Which tuples have data first and weights after, or weights alone; any variable of data makes a term data."""
        if not self._shard.pool.weights or not (move.takes_data or move.operator.weights_only):
            return np.ones(len(operands), np.bool_)
        first, *others = (
            bank.masks[rows] & self._data for bank, rows in zip(operands.banks, operands.rows, strict=True)
        )
        if move.operator.weights_only:
            return np.asarray(first == 0)
        return np.asarray(np.logical_and.reduce([first != 0, *(other == 0 for other in others)]))

    def _sharing(self, total: int) -> Iterator[Operands]:
        """Pairs of terms that have operators in common and `total` of them together."""
        groups: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for pair in self._table.sharing_pairs(total):
            (left, first), (right, second) = (self._table.places[node] for node in pair)
            groups[left, right].append((first, second))
        for (left, right), members in sorted(groups.items()):
            first_rows, second_rows = np.array(members, np.intp).T
            yield Operands((self._table.banks[left], self._table.banks[right]), (first_rows, second_rows))

    def _cuts_of(self, kind: int) -> list[Move]:
        """The splits that a type allows."""
        if kind not in self._cuts:
            operator = self._operators.get(SPLIT)
            if operator is None or SPLIT not in self._shard.operators:
                self._cuts[kind] = []
            else:
                self._cuts[kind] = split_moves(self._table.kinds[kind], operator, self._shard.pool)
        return self._cuts[kind]

    def _evaluate(self, move: Move, operands: Operands) -> Iterator[Batch]:
        """The results of one signature in batches, without those that are zero everywhere."""
        if not len(operands):
            return
        kinds = self._inferred(move, operands.banks)
        largest = max(value[0].size for bank in operands.banks for value in bank.values)
        step = max(1, BATCH_ELEMENTS // largest)
        for start in range(0, len(operands), step):
            part = operands.part(slice(start, start + step))
            for item, values in enumerate(self._values(move, part)):
                yield self._batch(move, part, item if len(kinds) > 1 else None, kinds[item], values)

    def _batch(self, move: Move, operands: Operands, item: int | None, kind: int, values: list[Array]) -> Batch:
        kept = nonzero(values)
        values = [value[kept] for value in values]
        cuts = self._useful_cuts(move, kind, operands) if len(values[0]) else []
        halves = tuple((cut, *self._half_keys(cut, kind, values)) for cut in cuts)
        keys = fingerprints(values, kind)
        return Batch(move, operands.nodes()[kept], item, kind, keys, tuple(values), halves)

    def _values(self, move: Move, operands: Operands) -> list[list[Array]]:
        """For each output its values at every shape set."""
        by_set = []
        for place, attributes in enumerate(move.concrete):
            arrays = [bank.values[place][rows] for bank, rows in zip(operands.banks, operands.rows, strict=True)]
            result = move.operator.evaluate(self._xp, *arrays, **attributes)
            by_set.append(result if isinstance(result, tuple) else (result,))
        return [list(values) for values in zip(*by_set, strict=True)]

    def _useful_cuts(self, move: Move, kind: int, operands: Operands) -> list[Move]:
        """The splits of a result whose parts are worth knowing: those of a join are what was joined."""
        if move.operator.outputs > 1:
            return []
        joined = dict(move.attributes).get("axis") if move.joins and any(bank.size for bank in operands.banks) else None
        return [cut for cut in self._cuts_of(kind) if dict(cut.attributes)["axis"] != joined]

    def _half_keys(self, cut: Move, kind: int, values: Sequence[Array]) -> tuple[Keys, Keys]:
        first, second = cut.operator.result_types([self._table.kinds[kind]], dict(cut.attributes))
        parts = [
            cut.operator.evaluate(self._xp, value, **attributes)
            for value, attributes in zip(values, cut.concrete, strict=True)
        ]
        heads, tails = zip(*parts, strict=True)
        return fingerprints(heads, self._table.kind_of(first)), fingerprints(tails, self._table.kind_of(second))


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


def _overlap(operands: Operands) -> NDArray[np.bool_]:
    """Which pairs have an operator in common."""
    left, right = (bank.operators[rows] for bank, rows in zip(operands.banks, operands.rows, strict=True))
    common = np.zeros(len(operands), np.bool_)
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            common |= left[:, i] == right[:, j]
    return common


def _in_order(operands: Operands) -> Operands:
    nodes = operands.nodes()
    return operands.part(nodes[:, 0] <= nodes[:, 1])
