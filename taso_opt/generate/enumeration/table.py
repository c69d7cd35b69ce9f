"""The terms that an enumeration keeps: one node for each fingerprint class, with its values, in banks of one type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.types import TensorType
from taso_opt.generate.enumeration.fingerprint import Keys, fingerprints
from taso_opt.generate.enumeration.moves import Move
from taso_opt.spec.operator import Array

Nodes = NDArray[np.int64]


@dataclass(frozen=True)
class Application:
    """One output of a move applied to nodes; `item` is None where the operator has a single output."""

    move: Move
    operands: tuple[int, ...]
    item: int | None


@dataclass(frozen=True)
class Node:
    """A kept term: what it is made of, its type's number, its variables as a bit mask and its operators by number.

    `operator` is the number of the outermost one, -1 for a variable; `made` of a variable is its place in the pool.
    """

    made: Application | int
    kind: int
    mask: int
    operator: int
    operators: frozenset[int]

    @property
    def size(self) -> int:
        """How many operators the term has, shared ones counted once."""
        return len(self.operators)


@dataclass(frozen=True, eq=False)
class Bank:
    """All kept terms of one type and size: their nodes, masks, operators and values at every shape set."""

    order: int
    kind: int
    size: int
    nodes: Nodes
    masks: Nodes
    operators: Nodes
    values: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass
class Table:
    """Everything that one enumeration has kept so far."""

    kinds: list[TensorType] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    classes: dict[tuple[int, int], int] = field(default_factory=dict)
    banks: list[Bank] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    _kind_numbers: dict[TensorType, int] = field(default_factory=dict)
    _operator_numbers: dict[tuple[Move, tuple[int, ...]], int] = field(default_factory=dict)
    _by_size: dict[int, list[Bank]] = field(default_factory=dict)
    _examples: dict[int, Bank] = field(default_factory=dict)
    _fresh: dict[int, tuple[list[int], list[tuple[Array, ...]]]] = field(default_factory=dict)

    def kind_of(self, type: TensorType) -> int:
        """The number of a type."""
        if type not in self._kind_numbers:
            self._kind_numbers[type] = len(self.kinds)
            self.kinds.append(type)
        return self._kind_numbers[type]

    def of_size(self, size: int) -> list[Bank]:
        """The banks of terms with this many operators."""
        return self._by_size.get(size, [])

    def add_variable(self, place: int, type: TensorType, values: Sequence[Array]) -> None:
        """Keep a variable; `place` is its position in the pool."""
        kind = self.kind_of(type)
        (key,) = fingerprints(values, kind).tolist()
        self._keep(Node(place, kind, 1 << place, -1, frozenset()), (key[0], key[1]))
        self._collect(kind, [len(self.nodes) - 1], tuple(values))

    def add(self, made: Application, kind: int, key: tuple[int, int]) -> int | None:
        """Keep an application unless its class is known; the number of its node, or None."""
        if key in self.classes:
            return None
        number = self._operator_numbers.setdefault((made.move, made.operands), len(self._operator_numbers))
        operators = frozenset({number}).union(*(self.nodes[operand].operators for operand in made.operands))
        mask = 0
        for operand in made.operands:
            mask |= self.nodes[operand].mask
        return self._keep(Node(made, kind, mask, number, operators), key)

    def _keep(self, node: Node, key: tuple[int, int]) -> int:
        self.classes[key] = len(self.nodes)
        self.nodes.append(node)
        self.places.append((-1, -1))
        return len(self.nodes) - 1

    def _collect(self, kind: int, nodes: list[int], values: tuple[Array, ...]) -> None:
        numbers, parts = self._fresh.setdefault(kind, ([], []))
        numbers.extend(nodes)
        parts.append(values)

    def add_values(self, kind: int, nodes: list[int], values: tuple[Array, ...]) -> None:
        """The values of nodes just added, in their order, at every shape set."""
        if nodes:
            self._collect(kind, nodes, values)

    def close_level(self, size: int) -> None:
        """Make banks of what was added since the last level."""
        for kind, (numbers, parts) in sorted(self._fresh.items()):
            values = tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            masks = np.array([self.nodes[number].mask for number in numbers], np.int64)
            operators = np.array([_filled(self.nodes[number].operators, size) for number in numbers], np.int64)
            bank = Bank(len(self.banks), kind, size, np.array(numbers, np.int64), masks, operators, values)
            for row, number in enumerate(numbers):
                self.places[number] = bank.order, row
            self.banks.append(bank)
            self._examples.setdefault(kind, bank)
            self._by_size.setdefault(size, []).append(bank)
        self._fresh = {}

    def example(self, kind: int) -> Bank:
        """Some bank of a type."""
        return self._examples[kind]

    def keys(self) -> tuple[Keys, Nodes]:
        """The keys of all classes and their nodes."""
        keys = np.array(list(self.classes), np.uint64).reshape(-1, 2)
        return keys, np.array(list(self.classes.values()), np.int64)

    def sharing_pairs(self, total: int) -> Iterator[tuple[int, int]]:
        """Every ordered pair of nodes that have operators in common and `total` of them together."""
        by_set: dict[frozenset[int], list[int]] = defaultdict(list)
        for number, node in enumerate(self.nodes):
            if 0 < node.size <= total:
                by_set[node.operators].append(number)
        for larger, smaller in _overlapping(by_set, total):
            for first in by_set[larger]:
                yield from ((first, second) for second in by_set[smaller])


def _filled(operators: frozenset[int], size: int) -> list[int]:
    """The operators of a term as so many numbers: one that shares some among three operands has fewer than it seems."""
    found = sorted(operators)
    return found + found[-1:] * (size - len(found))


def _overlapping(sets: dict[frozenset[int], list[int]], total: int) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Ordered pairs of sets that meet and whose union has `total` members."""
    users: dict[int, list[frozenset[int]]] = defaultdict(list)
    for members in sets:
        for member in members:
            users[member].append(members)
    for one in sets:
        if len(one) == total:
            parts = (frozenset(part) for size in range(1, total + 1) for part in combinations(sorted(one), size))
            for part in parts:
                if part in sets:
                    yield one, part
                    if part != one and len(part) < total:
                        yield part, one
            continue
        near = dict.fromkeys(other for member in sorted(one) for other in users[member] if len(other) < total)
        yield from ((one, other) for other in near if len(one | other) == total)
