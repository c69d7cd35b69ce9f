"""From the claims of one enumeration to the few equations that the others follow from (paper, section 2.5)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from taso_opt.generate.enumeration.candidates import claims
from taso_opt.generate.enumeration.derive import Built, Member, Members
from taso_opt.generate.enumeration.enumerate import Enumeration
from taso_opt.generate.enumeration.sketch import Claim, Sides, Sketches, leaf_count, size


@dataclass(frozen=True)
class Drawn:
    """A claim of one output as an equation, and whether a common subgraph of its sides became a leaf."""

    claim: Claim
    sides: Sides
    abstracted: bool


@dataclass(frozen=True)
class Reduction:
    """How many equations an enumeration suggested, how many were dropped for each reason, and what is left."""

    claims: int
    dropped: Counter[str]
    kept: list[Sides]


def reduced(found: Enumeration, max_ops: int, seed: int) -> Reduction:
    """The distinct equations of an enumeration that do not follow from smaller or more general ones."""
    sketches = Sketches(found, seed)
    dropped: Counter[str] = Counter()
    # 1. Every claim as an equation, freed of common subgraphs where it stays true.
    singles, pairs = [], []
    for claim in claims(found, max_ops):
        if claim.cut is not None:
            pairs.append(claim)
            continue
        general = sketches.general(claim)
        singles.append(Drawn(claim, general or sketches.plain(claim), general is not None))
    # 2. In order, small and general ones first: what is not yet implied is kept and joins what it implies.
    members = Members(found)
    ends = {drawn: members.add(drawn.claim.left[0], drawn.claim.right) for drawn in singles}
    restated = _Restated(found, pairs, members, sketches)
    kept: dict[Sides, None] = {}
    seen: set[Sides] = set()
    # Many claims are drawn as the same equation, so each of those is measured once.
    order = {sides: (size(sides), -leaf_count(sides)) for sides in {drawn.sides for drawn in singles}}
    for drawn in sorted(singles, key=lambda one: order[one.sides]):
        left, right = ends[drawn]
        if members.root(left) == members.root(right) and not _uses_everything(found, drawn.sides):
            repeated = "renaming" if drawn.sides in seen else "implied"
            dropped["common subgraph" if drawn.abstracted else repeated] += 1
        else:
            law = sketches.loosened(drawn.sides, max_ops)
            if sketches.is_about_shapes(law):
                dropped["trivial"] += 1
            else:
                kept.update(dict.fromkeys(sketches.loosened(one, max_ops) for one in restated.by(drawn, left, right)))
            members.join(left, right)
            members.learn(law)
        seen.add(drawn.sides)
    return Reduction(len(singles), dropped, list(kept))


def _uses_everything(found: Enumeration, sides: Sides) -> bool:
    """Whether an equation of a pool with deeper terms has all of its variables.

    It may follow from smaller ones, and yet is what they lead to only by way of what nobody would write.
    """
    pool = found.shard.pool
    return pool.deeper > 0 and leaf_count(sides) == len(pool.variables)


class _Restated:
    """The equations with two outputs that say the same as one with a single output."""

    def __init__(self, found: Enumeration, pairs: Iterable[Claim], members: Members, sketches: Sketches) -> None:
        self._members, self._sketches = members, sketches
        self._by_class: dict[Member, list[tuple[Member, Member, Claim]]] = defaultdict(list)
        self._by_part: dict[Built, Claim] = {}
        joins = {dict(move.attributes)["axis"]: move for move in found.moves if move.joins and move.arity == 2}
        for pair in pairs:
            assert pair.cut is not None
            whole = members.member(pair.right)
            label = members.label(whole)
            if isinstance(pair.right, int):
                self._by_part.update({members.build(pair.cut, part, (pair.right,)): pair for part in range(2)})
            join = joins.get(dict(pair.cut.attributes)["axis"])
            if label is not None and join is not None:
                parts = [half for half in pair.left if isinstance(half, int)]
                self._by_class[label].append((whole, members.build(join, None, parts), pair))

    def by(self, drawn: Drawn, left: Member, right: Member) -> Iterator[Sides]:
        """The equation itself and its restatements; an equation of one part of a split gives way to that of both."""
        if not drawn.abstracted and right in self._by_part:
            yield self._sketches.plain(self._by_part[right])
            return
        yield drawn.sides
        roots = {self._members.root(left), self._members.root(right)}
        for whole, joined, pair in self._by_class.get(self._members.label(left) or left, ()):
            if not drawn.abstracted and {self._members.root(whole), self._members.root(joined)} == roots:
                yield self._sketches.plain(pair)
