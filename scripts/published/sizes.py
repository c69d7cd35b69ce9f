"""Sizes of axes that are not known yet, and what they have to be so that the operators of a rule fit together.

A size is a number, a name, the sum of others that a concatenation made, or `factor * size + offset`, which is what the
image in front of strided windows has. Two sizes are made equal in the most general way that can be written like that.
How many strided windows fit into an image of any size cannot be written, but equals the same number of another image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd


class Untypable(Exception):
    """No sizes make every operator of a rule well-typed, or none that can be written; the message says which."""


@dataclass(eq=False)
class Dim:
    """A size: the number if there is one, else the sum of its parts times a factor plus an offset, else unknown."""

    parts: list[Dim] = field(default_factory=list)
    same: Dim | None = None
    factor: int = 1
    offset: int = 0
    number: int | None = None
    fits: tuple[Dim, int, int] | None = None
    """The image, the kernel and the stride, where this is how many windows fit."""

    def root(self) -> Dim:
        """The size that this one was found to equal."""
        dim = self
        while dim.same is not None:
            dim = dim.same
        return dim

    @property
    def is_free(self) -> bool:
        """Whether nothing is known about it, for a root."""
        return not self.parts and self.number is None and self.fits is None

    @property
    def joined(self) -> list[Dim]:
        """The parts of what a concatenation made, for a root; empty for any other size."""
        return self.parts if len(self.parts) > 1 and (self.factor, self.offset) == (1, 0) else []


Linear = tuple[dict[Dim, int], int]


def linear(dim: Dim) -> Linear:
    """A size as how often each unknown occurs in it, in order of first occurrence, and a constant."""
    return _linear(dim.root(), {})


def _linear(dim: Dim, known: dict[Dim, Linear]) -> Linear:
    if dim.number is not None:
        return {}, dim.number
    if not dim.parts:
        return {dim: 1}, 0
    if dim not in known:
        counts: dict[Dim, int] = {}
        constant = dim.offset
        for part in dim.parts:
            inner, rest = _linear(part.root(), known)
            constant += dim.factor * rest
            for leaf, count in inner.items():
                counts[leaf] = counts.get(leaf, 0) + dim.factor * count
        known[dim] = counts, constant
    return known[dim]


def scaled(dim: Dim, factor: int, offset: int = 0) -> Dim:
    """The size `factor * dim + offset`."""
    return dim if (factor, offset) == (1, 0) else Dim(parts=[dim], factor=factor, offset=offset)


def unify(a: Dim, b: Dim) -> None:
    """Make two sizes equal; Untypable where they cannot be."""
    a, b = a.root(), b.root()
    counts, constant = _difference(a, b)
    if not counts:
        if constant:
            raise _unequal(a, b)
    elif a.fits and b.fits and a.fits[1:] == b.fits[1:]:
        unify(a.fits[0], b.fits[0])
        a.same = b
    elif any(leaf.fits for leaf in counts):
        _pairwise(a, b)
    elif a.is_free and a not in linear(b)[0]:
        a.same = b
    elif b.is_free and b not in linear(a)[0]:
        b.same = a
    elif len(counts) == 1:
        ((leaf, count),) = counts.items()
        # Images of one size only, which solve 2*n-1 = n, are not what a rule is about.
        if constant % count or -constant // count < 1 or (linear(a)[0] and linear(b)[0]):
            raise _unequal(a, b)
        leaf.same = Dim(number=-constant // count)
    elif len(counts) == 2:
        _solve(counts, constant, _unequal(a, b))
    elif len(a.joined) == len(b.joined) > 0 or not _isolated(counts, constant):
        _pairwise(a, b)


def _pairwise(a: Dim, b: Dim) -> None:
    """Make the parts of two joined sizes equal."""
    if len(a.joined) != len(b.joined) or not a.joined:
        raise _unequal(a, b)
    for one, other in zip(a.joined, b.joined, strict=True):
        unify(one, other)


def _difference(a: Dim, b: Dim) -> Linear:
    (found, constant), (others, other) = linear(a), linear(b)
    counts = dict(found)
    for leaf, count in others.items():
        counts[leaf] = counts.get(leaf, 0) - count
    return {leaf: count for leaf, count in counts.items() if count}, constant - other


def _solve(counts: dict[Dim, int], constant: int, misfit: Untypable) -> None:
    """All positive solutions of `p * x + constant = q * y`, in terms of one unknown."""
    if min(counts.values()) > 0 or max(counts.values()) < 0:
        raise misfit
    (x, p), (y, q) = sorted(counts.items(), key=lambda entry: -entry[1])
    q, common = -q, gcd(p, q)
    if constant % common:
        raise misfit
    step, other_step = q // common, p // common
    start = max(1, -((constant - q) // p))
    first = start + (-(constant // common) * pow(other_step, -1, step) - start) % step
    offset, other_offset = first - step, (p * first + constant) // q - other_step
    if (step, offset) == (1, 0):
        y.same = scaled(x, other_step, other_offset)
    elif (other_step, other_offset) == (1, 0):
        x.same = scaled(y, step, offset)
    else:
        base = Dim()
        x.same, y.same = scaled(base, step, offset), scaled(base, other_step, other_offset)


def _isolated(counts: dict[Dim, int], constant: int) -> bool:
    """Let an unknown be the sum that the others say it is, if there is one for which they do."""
    for leaf, count in counts.items():
        others = [(other, -rest) for other, rest in counts.items() if other is not leaf]
        values = [value for _, value in others] + [-constant]
        if all(value % count == 0 and value // count >= 0 for value in values):
            terms = [scaled(other, value // count) for other, value in others]
            leaf.same = Dim(parts=[Dim(parts=terms)], offset=-constant // count)
            return True
    return False


def _unequal(a: Dim, b: Dim) -> Untypable:
    names: dict[Dim, str] = {}
    try:
        return Untypable(f"expected equal sizes, found {spelled(a, names)} and {spelled(b, names)}")
    except Untypable as error:
        return error


def windows(size: Dim, stride: int, more: int) -> Dim:
    """The number of windows in an image of this size, which has to be `stride` for each window and `more`."""
    if (stride, more) == (1, 0):
        return size
    found = Dim()
    unify(size, scaled(found, stride, more))
    return found


def multiple(whole: Dim, share: Dim, groups: int) -> None:
    """A size is a share for each group; each part of a joined size is then."""
    whole, share = whole.root(), share.root()
    if len(whole.joined) > 1 and (share.is_free or len(share.joined) == len(whole.joined)):
        if any(share in linear(part)[0] for part in whole.joined):
            raise Untypable(f"expected a size that is {groups} times another, found one that has it as a part")
        share.parts = share.parts or [Dim() for _ in whole.joined]
        for part, half in zip(whole.joined, share.parts, strict=True):
            multiple(part, half, groups)
    else:
        unify(whole, scaled(share, groups))


def halves(whole: Dim, share: Dim) -> None:
    """A joined size has two parts, the shares of two groups."""
    if len(whole.root().joined) != 2:
        raise Untypable("expected a concatenation of two for each convolution of two groups, found none")
    for part in whole.root().joined:
        unify(part, share)


def spelled(dim: Dim, names: dict[Dim, str], prefix: str = "d") -> str:
    """A size in our text form; unknown ones get the next name."""
    counts, constant = linear(dim)
    terms = []
    for leaf, count in counts.items():
        if leaf.fits:
            raise Untypable("expected sizes that can be written, found the number of windows in an image of any size")
        name = names.setdefault(leaf, f"{prefix}{len(names)}")
        terms.append(name if count == 1 else f"{count}*{name}")
    if constant or not terms:
        terms.append(str(constant))
    return "+".join(terms).replace("+-", "-")


def equal(x: Sequence[Dim], y: Sequence[Dim]) -> None:
    """Make two shapes equal; Untypable where they cannot be."""
    if len(x) != len(y):
        raise Untypable(f"expected operands of one rank, found {len(x)} and {len(y)}")
    for a, b in zip(x, y, strict=True):
        unify(a, b)
