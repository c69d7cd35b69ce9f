"""Candidate equations as bare trees over numbered leaves, renamed and freed of common subgraphs (paper, section 2.5).

An enumeration suggests hundreds of thousands of equations, nearly all of them instances of a few. They are compared
here by number, before any term is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from taso_opt.core.dims import STAR, Dim, Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import TensorType
from taso_opt.generate.enumeration.enumerate import Enumeration
from taso_opt.generate.enumeration.moves import Move
from taso_opt.generate.enumeration.table import Application, Table
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

SIZED = frozenset({"sizes", *ANY_WINDOWS, *ANY_KERNEL})
"""Attributes that are sizes: equations that differ only in them are forms of one."""

MOST_OCCURRENCES = 8
"""A leaf that occurs more often is not told apart: the number of ways doubles with each occurrence."""

Made = Application | int
"""An application, or the number of a kept node."""

Tree = tuple[Any, ...]
"""A leaf (number, kind), or (move, item, operands...)."""

Trees = tuple[Tree, ...]
Sides = tuple[Trees, Trees]
Cut = Move | None
"""The split that makes two outputs of the term on the right of an equation, if any."""


@dataclass(frozen=True)
class Claim:
    """Terms with equal fingerprints: two terms, or the two parts that `cut` makes of `right` and the term for each."""

    left: tuple[Made, ...]
    right: Made
    cut: Cut = None


@dataclass
class Sketches:
    """Draws the claims of one enumeration as equations and tests them on fresh values of their leaves."""

    found: Enumeration
    seed: int
    _holds: dict[Sides, bool] = field(default_factory=dict)
    _values: dict[tuple[int, int], list[Array]] = field(default_factory=dict)

    def general(self, claim: Claim) -> Sides | None:
        """The equation with a common subgraph replaced by a leaf, where there is one and the rest is still true."""
        for common in _common(self.found.table, claim):
            sides = _Drawing(self.found.table, common).sides(claim)
            if self._is_true(sides):
                return sides
        return None

    def plain(self, claim: Claim) -> Sides:
        """The equation as it stands."""
        return _Drawing(self.found.table, frozenset()).sides(claim)

    def loosened(self, sides: Sides, max_ops: int) -> Sides:
        """The equation with as many different leaves as keep it true: identifying some gives back the one at hand.

        Sharing operators less may make it larger; it stays within `max_ops`, or within its size if that is more.
        """
        left, right, cut = _opened(sides)
        places = _places(left, right)
        leaves = [leaf for leaf, _ in places]
        max_ops = max(max_ops, size(sides))
        waiting = list(dict.fromkeys(number for number, _ in leaves))
        while waiting:
            number = waiting.pop()
            own = [place for place, leaf in enumerate(leaves) if leaf[0] == number]
            for part in _parts_on_both_sides(own, places):
                fresh = (max(other for other, _ in leaves) + 1, leaves[own[0]][1])
                tried = [fresh if place in part else leaf for place, leaf in enumerate(leaves)]
                looser = _closed(left, right, cut, tried)
                if size(looser) <= max_ops and self._is_true(looser):
                    leaves = tried
                    waiting += [number, fresh[0]]
                    break
        numbers = {number: place for place, number in enumerate(dict.fromkeys(number for number, _ in leaves))}
        return _closed(left, right, cut, [(numbers[number], kind) for number, kind in leaves])

    def is_about_shapes(self, sides: Sides) -> bool:
        """Whether both sides hold a leaf that no value depends on, as y - x + x does: only its shape matters there."""
        left, right, cut = _opened(sides)
        places = _places(left, right)
        idle = {side for leaf, side in dict.fromkeys(places) if self._is_idle(left, right, cut, places, leaf, side)}
        return idle == {0, 1}

    def _is_idle(
        self, left: Trees, right: Tree, cut: Cut, places: Sequence[tuple[Tree, int]], leaf: Tree, side: int
    ) -> bool:
        changed = [(len(places), leaf[1]) if one == leaf else one for one, _ in places]
        before, after = (_closed(left, right, cut, leaves) for leaves in ([one for one, _ in places], changed))
        return self._agree((before[side], after[side]))

    def _is_true(self, sides: Sides) -> bool:
        if sides not in self._holds:
            self._holds[sides] = self._agree(sides)
        return self._holds[sides]

    def _agree(self, sides: Sides) -> bool:
        for place in range(len(self.found.shard.pool.sizes)):
            for left, right in zip(*sides, strict=True):
                if not np.array_equal(self._evaluate(left, place), self._evaluate(right, place)):
                    return False
        return True

    def _evaluate(self, tree: Tree, place: int) -> Array:
        if not isinstance(tree[0], Move):
            return self._leaf(*tree)[place]
        move, item, *operands = tree
        arrays = [self._evaluate(operand, place) for operand in operands]
        result = move.operator.evaluate(ModularArrays(self.seed), *arrays, **move.concrete[place])
        return result if item is None else result[item]  # type: ignore[no-any-return]

    def _leaf(self, number: int, kind: int) -> list[Array]:
        """Fresh random values of a leaf at every shape set."""
        if (number, kind) not in self._values:
            generator = np.random.default_rng([self.seed, 2, number, kind])
            shapes = [value.shape[1:] for value in self.found.table.example(kind).values]
            self._values[number, kind] = [ModularArrays(self.seed).random(generator, (1, *shape)) for shape in shapes]
        return self._values[number, kind]


def _common(table: Table, claim: Claim) -> Iterator[frozenset[int]]:
    """Sets of operators that occur on both sides: all of them, then each alone."""
    both = frozenset().union(*(_operators(table, made) for made in claim.left)) & _operators(table, claim.right)
    if both:
        yield both
    if len(both) > 1:
        yield from (frozenset({operator}) for operator in sorted(both))


def _operators(table: Table, made: Made) -> frozenset[int]:
    if isinstance(made, int):
        return table.nodes[made].operators
    return frozenset().union(*(table.nodes[operand].operators for operand in made.operands))


class _Drawing:
    """Draws one equation; terms whose outermost operator is `opaque` become leaves, numbered as they are met."""

    def __init__(self, table: Table, opaque: frozenset[int]) -> None:
        self._table, self._opaque = table, opaque
        self._leaves: dict[int, Tree] = {}

    def sides(self, claim: Claim) -> Sides:
        """Both sides as trees."""
        left, right = tuple(map(self._draw, claim.left)), self._draw(claim.right)
        return left, (right,) if claim.cut is None else ((claim.cut, 0, right), (claim.cut, 1, right))

    def _draw(self, made: Made) -> Tree:
        if isinstance(made, int):
            node = self._table.nodes[made]
            if isinstance(node.made, int) or node.operator in self._opaque:
                if made not in self._leaves:
                    self._leaves[made] = (len(self._leaves), node.kind)
                return self._leaves[made]
            made = node.made
        return (made.move, made.item, *map(self._draw, made.operands))


def _opened(sides: Sides) -> tuple[Trees, Tree, Cut]:
    """The left outputs, the term on the right, and the split that makes two outputs of it, if any."""
    left, right = sides
    if len(right) == 1:
        return left, right[0], None
    move, _, whole = right[0]
    return left, whole, move


def _closed(left: Trees, right: Tree, cut: Cut, leaves: Sequence[Tree]) -> Sides:
    """An equation with other leaves, in the order in which they are met."""
    following = iter(leaves)

    def fill(tree: Tree) -> Tree:
        if not isinstance(tree[0], Move):
            return next(following)
        return (tree[0], tree[1], *[fill(operand) for operand in tree[2:]])

    sources, whole = tuple([fill(tree) for tree in left]), fill(right)
    return sources, (whole,) if cut is None else ((cut, 0, whole), (cut, 1, whole))


def _places(left: Trees, right: Tree) -> list[tuple[Tree, int]]:
    """Every leaf in the order in which it is met, with the side it is on."""
    return [(leaf, 0) for tree in left for leaf in _leaves(tree)] + [(leaf, 1) for leaf in _leaves(right)]


def _parts_on_both_sides(own: Sequence[int], places: Sequence[tuple[Tree, int]]) -> Iterator[tuple[int, ...]]:
    """Ways to give some occurrences of a leaf to another one, so that each still occurs on both sides."""
    for count in range(2, len(own) - 1) if len(own) <= MOST_OCCURRENCES else ():
        for part in combinations(own[1:], count):
            rest = [place for place in own if place not in part]
            if len({places[place][1] for place in part}) == 2 == len({places[place][1] for place in rest}):
                yield part


def size(sides: Sides) -> int:
    """The number of operators of the larger side, shared ones counted once."""
    return max(len({part for tree in side for part in _applications(tree)}) for side in sides)


def leaf_count(sides: Sides) -> int:
    """How many different leaves there are."""
    return len({leaf for side in sides for tree in side for leaf in _leaves(tree)})


def shape_of(sides: Sides, kinds: Sequence[TensorType]) -> tuple[str, tuple[int, ...]]:
    """What two equations have in common that differ in sizes only, as text, and the numbers of the leaves in order."""
    leaves: list[int] = []

    def look(tree: Tree) -> str:
        if not isinstance(tree[0], Move):
            leaves.append(tree[0])
            return "".join(map(_mark, kinds[tree[1]].shape)) or "s"
        move, item, *operands = tree
        settings = [(name, value) for name, value in move.attributes if name not in SIZED]
        return f"{move.operator.name}{settings}{item}({','.join([look(operand) for operand in operands])})"

    text = " = ".join(",".join([look(tree) for tree in side]) for side in sides)
    return text, tuple(leaves)


def _mark(dim: Dim) -> str:
    return "1" if dim == 1 else STAR if isinstance(dim, Size) and dim.is_star else "."


def rule_of(sides: Sides, kinds: Sequence[TensorType], builder: Builder) -> Rule:
    """An equation as a rule over variables named after its leaves."""

    def term(tree: Tree) -> Term:
        if not isinstance(tree[0], Move):
            return Var(f"v{tree[0]}", kinds[tree[1]])
        move, item, *operands = tree
        applied = builder.apply(move.operator.name, [term(operand) for operand in operands], dict(move.attributes))
        return applied if item is None else builder.item(applied, item)

    source, target = (tuple(map(term, side)) for side in sides)
    return Rule(source, target)


def _applications(tree: Tree) -> Iterator[Tree]:
    if isinstance(tree[0], Move):
        yield (tree[0], *tree[2:])  # without the item: all outputs of one application count once
        for operand in tree[2:]:
            yield from _applications(operand)


def _leaves(tree: Tree) -> Iterator[Tree]:
    if isinstance(tree[0], Move):
        for operand in tree[2:]:
            yield from _leaves(operand)
    else:
        yield tree
