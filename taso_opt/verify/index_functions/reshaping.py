"""Where the elements of a reshaped tensor come from: row-major index arithmetic, one group of axes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taso_opt.core.dims import STAR, Dim, divide
from taso_opt.core.dims import product as size_of
from taso_opt.errors import TypeMismatch
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import divided, names_in


@dataclass(frozen=True)
class Group:
    """Adjacent axes of the old shape and of the new one that hold the same number of elements."""

    old: tuple[int, ...]
    new: tuple[int, ...]


def groups(old: Sequence[Dim], new: Sequence[Dim]) -> list[Group]:
    """The finest division of two shapes of as many elements into groups; axes of size one belong to none."""
    sources = [axis for axis, size in enumerate(old) if size != 1]
    targets = [axis for axis, size in enumerate(new) if size != 1]
    found: list[Group] = []
    while sources or targets:
        pair = _first_group(old, new, sources, targets)
        found.append(pair)
        sources, targets = sources[len(pair.old) :], targets[len(pair.new) :]
    return found


def _first_group(old: Sequence[Dim], new: Sequence[Dim], sources: list[int], targets: list[int]) -> Group:
    for width in range(2, len(sources) + len(targets) + 1):
        for left in range(1, width):
            if left > len(sources) or width - left > len(targets):
                continue
            first, second = tuple(sources[:left]), tuple(targets[: width - left])
            if size_of(tuple(old[axis] for axis in first)) == size_of(tuple(new[axis] for axis in second)):
                return Group(first, second)
    return Group(tuple(sources), tuple(targets))


def source_place(
    facts: Facts, divisions: Sequence[Group], old: Sequence[Dim], new: Sequence[Dim], place: Sequence[Dim]
) -> tuple[Dim, ...]:
    """The place in the old tensor of what stands at `place` in the new one."""
    found: list[Dim] = [0] * len(old)
    for group in divisions:
        flat: Dim = 0
        for axis in group.new:
            flat = flat * new[axis] + place[axis]
        for axis in reversed(group.old[1:]):
            flat, found[axis] = quotient_and_rest(facts, flat, old[axis])
        if group.old:
            found[group.old[0]] = flat
    return tuple(found)


def quotient_and_rest(facts: Facts, index: Dim, size: Dim) -> tuple[Dim, Dim]:
    """Floor division of an index that is not negative; what cannot be worked out stays a quotient."""
    if facts.surely(index) and facts.proves(size - 1 - index):
        return 0, index
    parts = divided(index, size)
    if parts is not None and facts.proves(parts[1]) and facts.proves(size - 1 - parts[1]):
        return parts
    if any(name.startswith(STAR) for name in names_in(index) | names_in(size)):
        raise TypeMismatch(f"expected numbers of elements that divide, found {index} and {size}")
    quotient = divide(index, size)
    return quotient, index - quotient * size
