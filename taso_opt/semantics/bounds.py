"""Which sizes of a term may be 0: pads, and what a slice leaves away; everything else is at least 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from taso_opt.core.dims import Dim, Size, sizes_in
from taso_opt.core.quotients import symbols_below
from taso_opt.core.term import Apply, Attribute, Const, Term, Var, postorder


@dataclass(frozen=True)
class SizeBounds:
    """What is known of sizes: `least` has the symbols that may be 0, and no other may.

    Sums of nothing but such symbols that are the size of something are `at_least_one` all the same.
    """

    least: Mapping[str, int]
    at_least_one: tuple[Dim, ...] = ()


def bounds_of_sizes(roots: Iterable[Term]) -> SizeBounds:
    """Symbols that occur in pads alone, or in what a slice leaves away, may be 0, but for those that are a size."""
    pads: set[str] = set()
    left_away: set[str] = set()
    others: list[Dim] = []
    sliced: list[Dim] = []
    for term in postorder(roots):
        if isinstance(term, Var | Const):
            others += term.type.shape
        elif isinstance(term, Apply):
            for name, value in term.attributes:
                if name == "pads":
                    pads |= _symbols(value)
                elif term.operator == "Slice" and isinstance(value, tuple):
                    left_away |= _symbols((value[0], value[2]))
                    sliced += sizes_in(value[1])
                else:
                    others += sizes_in(value)
    # A size such as 4*a-p that pads are a part of does not say that there are any.
    known = set[str]().union(*(_symbols(dim) for dim in others if isinstance(dim, Size) and len(dim.terms) == 1))
    # Where nothing but pads and what is left away makes up a size, that is not empty.
    empty = (pads - known) | left_away
    made_up = [dim for dim in (*others, *sliced) if isinstance(dim, Size) and _is_made_of(dim, empty)]
    needed = set[str]().union(*(_symbols(dim) for dim in made_up if len(dim.terms) == 1))
    sums = dict.fromkeys(dim for dim in made_up if len(dim.terms) > 1)
    return SizeBounds(dict.fromkeys(sorted(empty - needed), 0), tuple(sums))


def _is_made_of(dim: Size, names: set[str]) -> bool:
    return all(names.intersection(factors) for factors, _ in dim.terms)


def _symbols(value: Attribute) -> set[str]:
    return set[str]().union(*map(symbols_below, sizes_in(value)))
