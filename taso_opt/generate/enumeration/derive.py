"""Drops equations that others of the same enumeration imply in one step of congruence.

The classes of an enumeration are an e-graph: several applications build each kept term. Equations are taken in order,
small and general ones first. One whose two sides earlier equations already join is implied; any other becomes a law,
and joins all members of classes that it turns into one another when it is matched modulo the classes of the operands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from taso_opt.generate.enumeration.enumerate import Enumeration
from taso_opt.generate.enumeration.moves import Move
from taso_opt.generate.enumeration.sketch import Made, Sides, Tree
from taso_opt.generate.enumeration.table import Application

Head = tuple[int, int | None, int]
"""The number of a move, the output taken and how many operands there are."""

Built = tuple[Head, tuple[int, ...]]
"""An application by value: its head and the classes of its operands."""

Member = Built | int
"""What builds a term: an application of classes, or a variable by its node."""

Binding = dict[int, int]

MOST_STEPS = 200
"""How far the ways to match one member are followed: sums of many terms have more than any machine can count. A law
that is not matched everywhere leaves an equation that could have been dropped, never a wrong one."""


@dataclass(frozen=True)
class Pattern:
    """A tree ready to be matched: a leaf has no head."""

    head: Head | None
    commutative: bool
    parts: tuple[Pattern, ...]
    leaf: int
    kind: int


class Members:
    """The applications of an enumeration by value, joined as laws are learned."""

    def __init__(self, found: Enumeration) -> None:
        self._nodes, self._kinds = found.table.nodes, found.table.kinds
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._move_numbers: dict[Move, int] = {}
        self._classes: dict[Built, int] = {}
        self._builds: dict[tuple[int, Head], list[tuple[Built, int]]] = defaultdict(list)
        self._sizes: dict[Built, int] = {}
        self._by_head: dict[Head, list[Built]] = defaultdict(list)
        self._labels: dict[Member, Member] = {}
        self._apart: Counter[Member] = Counter()
        self._parents: dict[Member, Member] = {}
        self._fitting: dict[tuple[int, int], bool] = {}
        self._steps = MOST_STEPS
        self._laws: set[Sides] = set()
        for number, node in enumerate(self._nodes):
            if isinstance(node.made, Application):
                self._store(number, node.made)
        for number, made in found.equal:
            if not self._makes_something_up(number, made):
                self._store(number, made)

    def _store(self, number: int, made: Application) -> None:
        built = self.build(made.move, made.item, made.operands)
        if built not in self._classes:
            self._classes[built] = number
            self._builds[number, built[0]].append((built, self._size(built)))

    def _makes_something_up(self, number: int, made: Application) -> bool:
        """Whether a term equals one that asks another variable for its type, as x does x convolved with an identity.

        No rewriting finds such a term in place of the other, so nothing may count as implied by it.
        """
        mask = self._nodes[number].mask
        stack = list(made.operands)
        while stack:
            node = self._nodes[stack.pop()]
            if node.mask & ~mask and isinstance(node.made, Application):
                if node.made.move.operator.weights_only:
                    return True
                stack.extend(node.made.operands)
        return False

    def build(self, move: Move, item: int | None, operands: Sequence[int]) -> Built:
        """An application by value, commutative operands in order."""
        ordered = tuple(sorted(operands)) if move.operator.commutative else tuple(operands)
        return (self._number(move), item, len(operands)), ordered

    def _number(self, move: Move) -> int:
        number = self._move_numbers.get(move)
        if number is None:
            number = self._numbers.setdefault((move.operator.name, move.attributes), len(self._numbers))
            self._move_numbers[move] = number
        return number

    def _size(self, built: Built) -> int:
        if built not in self._sizes:
            self._sizes[built] = 1 + len(frozenset().union(*(self._nodes[one].operators for one in built[1])))
        return self._sizes[built]

    def member(self, made: Made) -> Member:
        """The member that a node or an application is."""
        if isinstance(made, int):
            inner = self._nodes[made].made
            return made if isinstance(inner, int) else self.member(inner)
        return self.build(made.move, made.item, made.operands)

    def add(self, left: Made, right: Made) -> tuple[Member, Member]:
        """The members that two equal terms are, known from now on; the left one names their class."""
        label = self.member(left)
        members = label, self.member(right)
        for member in members:
            if member not in self._labels:
                self._labels[member] = label
                self._apart[label] += 1
                if not isinstance(member, int):
                    self._size(member)
                    self._by_head[member[0]].append(member)
        return members

    def label(self, member: Member) -> Member | None:
        """The name of a member's class; None for what was never added."""
        return self._labels.get(member)

    def root(self, member: Member) -> Member:
        """The member that stands for all that are joined with this one."""
        while member in self._parents:
            above = self._parents[member]
            self._parents[member] = self._parents.get(above, above)
            member = above
        return member

    def join(self, one: Member, other: Member) -> None:
        """Note that two members of a class are equal by what is known."""
        a, b = self.root(one), self.root(other)
        if a != b:
            self._parents[a] = b
            self._apart[self._labels[b]] -= 1

    def learn(self, law: Sides) -> None:
        """Join all members that an equation with one output turns into one another."""
        if law in self._laws:
            return  # its matches do not depend on what was learned since
        self._laws.add(law)
        left, right = (self._pattern(side[0]) for side in law)
        for pattern, result in ((left, right), (right, left)):
            for built in self._open(pattern.head) if pattern.head is not None else ():
                label, limit = self._labels[built], self._sizes[built]
                if self._apart[label] > 1:
                    self._steps = MOST_STEPS
                    for binding in self._operands(pattern, built, {}, limit):
                        other = self._instance(result, binding, limit)
                        if other is not None and self._labels.get(other) == label:
                            self.join(built, other)
                            if self._apart[label] == 1:
                                break

    def _open(self, head: Head) -> list[Built]:
        """The members with a head whose classes are not joined yet: once joined they stay so and are dropped."""
        members = [built for built in self._by_head[head] if self._apart[self._labels[built]] > 1]
        self._by_head[head] = members
        return members

    def _pattern(self, tree: Tree) -> Pattern:
        if not isinstance(tree[0], Move):
            return Pattern(None, False, (), tree[0], tree[1])
        move, item, *operands = tree
        parts = tuple(map(self._pattern, operands))
        return Pattern((self._number(move), item, len(parts)), move.operator.commutative, parts, -1, -1)

    def _match(self, pattern: Pattern, number: int, binding: Binding, limit: int) -> Iterator[Binding]:
        if pattern.head is None:
            known = binding.get(pattern.leaf)
            if known == number:
                yield binding
            elif known is None and self._fits(pattern.kind, self._nodes[number].kind):
                yield {**binding, pattern.leaf: number}
            return
        for built, size in self._builds.get((number, pattern.head), ()):
            self._steps -= 1
            if size < limit and self._steps > 0:
                yield from self._operands(pattern, built, binding, limit)

    def _operands(self, pattern: Pattern, built: Built, binding: Binding, limit: int) -> Iterator[Binding]:
        numbers = built[1]
        yield from self._in_turn(pattern.parts, numbers, binding, limit)
        if pattern.commutative and numbers[0] != numbers[1]:
            yield from self._in_turn(pattern.parts, numbers[::-1], binding, limit)

    def _in_turn(
        self, parts: tuple[Pattern, ...], numbers: tuple[int, ...], binding: Binding, limit: int
    ) -> Iterator[Binding]:
        if len(parts) == 1:
            yield from self._match(parts[0], numbers[0], binding, limit)
            return
        # Operators before leaves: they are rarer, so that a mismatch shows early.
        first = 1 if parts[0].head is None and parts[1].head is not None else 0
        rest = parts[:first] + parts[first + 1 :], numbers[:first] + numbers[first + 1 :]
        for bound in self._match(parts[first], numbers[first], binding, limit):
            yield from self._in_turn(*rest, bound, limit)

    def _fits(self, wanted: int, kind: int) -> bool:
        """Whether a leaf of one type may stand for a term of another: equal ranks, ones in the same places."""
        if (wanted, kind) not in self._fitting:
            first, second = self._kinds[wanted].shape, self._kinds[kind].shape
            alike = len(first) == len(second) and all((a == 1) == (b == 1) for a, b in zip(first, second, strict=True))
            self._fitting[wanted, kind] = alike
        return self._fitting[wanted, kind]

    def _instance(self, pattern: Pattern, binding: Binding, limit: int) -> Member | None:
        """The member that an instance of a pattern is; None where its operands are not kept or too large to be used."""
        if pattern.head is None:
            number = binding.get(pattern.leaf)
            return None if number is None else self.member(number)
        numbers = []
        for part in pattern.parts:
            number = self._class(part, binding, limit)
            if number is None:
                return None
            numbers.append(number)
        return pattern.head, tuple(sorted(numbers)) if pattern.commutative else tuple(numbers)

    def _class(self, pattern: Pattern, binding: Binding, limit: int) -> int | None:
        if pattern.head is None:
            return binding.get(pattern.leaf)
        member = self._instance(pattern, binding, limit)
        if member is None or isinstance(member, int):
            return None
        number = self._classes.get(member)
        return None if number is None or self._size(member) >= limit else number
