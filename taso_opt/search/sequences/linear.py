"""Where a graph is linear: the terms that are sums of multiples of others, all of one type, as far as they go together.

The steps of a recurrence s_t = a x_t + b s_{t-1} are one region, and its sources are the first state and all x_t. What
depends on a term of a region by more than sums and multiples is no source of it: the sources are there before anything
in the region is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_

from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.steps import Rewriter

SUMS = frozenset({"Add", "Sub"})
MULTIPLES = frozenset({"Mul", "Div"})

MOST_SOURCES = 128
"""Of a region: with as many terms as sources, its products grow by the square of them."""

MOST_MEMBERS = 1024
"""Of a region: every term of it is joined anew with all before it."""


@dataclass(frozen=True, eq=False)
class Region:
    """Terms that are linear in some sources, children before parents, and the numbers that these are multiplied by.

    `own` and `needs` are bit masks of terms: those of the region, and those of all regions that its sources depend on.
    """

    members: tuple[Term, ...]
    sources: tuple[Term, ...]
    numbers: tuple[Term, ...]
    own: int
    needs: int

    @property
    def sums(self) -> int:
        """How many of its terms add or subtract."""
        return sum(isinstance(term, Apply) and term.operator in SUMS for term in self.members)

    @property
    def is_possible(self) -> bool:
        """Whether no source depends on a term of the region, and there are not too many of either."""
        is_small = len(self.sources) <= MOST_SOURCES and len(self.members) <= MOST_MEMBERS
        return is_small and not self.own & self.needs


def linear_regions(terms: Iterable[Term], rewriter: Rewriter) -> list[Region]:
    """All regions of a graph, which is given by its terms, children before parents."""
    found: dict[Term, Region] = {}
    needs: dict[Term, int] = {}
    for term in terms:
        needs[term] = reduce(or_, map(needs.__getitem__, term.children), 0)
        parts = _parts(term, rewriter) if isinstance(term, Apply) else None
        if parts is not None:
            region = _region(term, *parts, found, needs)
            found.update(dict.fromkeys(region.members, region))
            needs[term] |= 1 << len(found) - 1
    return list(dict.fromkeys(found.values()))


def _parts(term: Apply, rewriter: Rewriter) -> tuple[tuple[Term, ...], tuple[Term, ...]] | None:
    """The operands of its type that a term is a sum or multiple of, and the number beside them; None of others."""
    if len(term.args) != 2 or rewriter.is_constant(term):
        return None
    types = rewriter.builder.types
    if term.operator in SUMS:
        return (term.args, ()) if all(types(operand) == types(term) for operand in term.args) else None
    multiples, numbers = (
        tuple(operand for operand in term.args if rewriter.is_constant(operand) is constant)
        for constant in (False, True)
    )
    divides = term.operator == "Div" and numbers == term.args[:1]
    if term.operator not in MULTIPLES or divides or len(multiples) != 1 or types(multiples[0]) != types(term):
        return None
    return (multiples, numbers) if types(numbers[0])[0].elements == 1 else None


def _region(
    term: Term,
    operands: tuple[Term, ...],
    numbers: tuple[Term, ...],
    found: Mapping[Term, Region],
    needs: Mapping[Term, int],
) -> Region:
    """The region of a term: with as many of those that its operands belong to as go together."""
    within = [operand for operand in dict.fromkeys(operands) if operand in found]
    for count in range(len(within), -1, -1):
        for chosen in combinations(reversed(within), count):
            sources = tuple(operand for operand in operands if operand not in chosen)
            needed = reduce(or_, map(needs.__getitem__, sources), 0)
            alone = Region((term,), sources, numbers, 1 << len(found), needed)
            region = _joined([*(found[operand] for operand in chosen), alone])
            if region.is_possible:
                return region
    raise AssertionError("a term depends on none of what is made of it")


def _joined(regions: Sequence[Region]) -> Region:
    members, sources, numbers = (
        tuple(dict.fromkeys(one for region in regions for one in getattr(region, name)))
        for name in ("members", "sources", "numbers")
    )
    own, needs = (reduce(or_, (getattr(region, name) for region in regions)) for name in ("own", "needs"))
    return Region(members, sources, numbers, own, needs)
