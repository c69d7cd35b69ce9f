"""Candidates about slices: a part of what an operator gives is what it gives for parts of its operands.

Slices commute with almost every operator, also with those that residues cannot evaluate or that enumeration does not
reach. So each operator is applied to operands of which one axis is cut, in every way in which its operands fit, and
what type-checks and agrees in floats is a candidate; the verifier proves it from the meanings, for all sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taso_opt.core.dims import Dim, symbol, total
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import TensorType, parse_scheme
from taso_opt.generate.schemes.cuts import WHOLE, cuts, sized
from taso_opt.generate.schemes.passing import confirmed, passed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.elementwise import CONCAT_AXES

SLICE = "Slice"
SIZES = (symbol("n"), symbol("p"), symbol("q"))
"""What is before, kept and behind."""

NEIGHBOURS = (2, 3, 4)
"""How many slices are joined again: as many as there are parts of an attention or gates of a recurrent cell."""


def discover_slices(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a slice meets one of the named operators, in the order of their text form."""
    if SLICE not in operators:
        return ()
    builder = library.builder()
    rules = (*_commuted(library, builder), *_along_one_axis(builder))
    return confirmed(rules, builder, seed, operators)


def _commuted(library: SpecLibrary, builder: Builder) -> Iterator[Rule]:
    """Slices of results as results of slices."""
    for name, operator in sorted(library.operators.items()):
        for cut in cuts(operator):
            rule = passed(builder, name, cut, _cut, _kept)
            if rule is not None:
                yield rule


def _cut(builder: Builder, term: Term) -> Term | None:
    """What is kept of a term along its only axis of the cut size; None when it has none or several."""
    kind = builder.type(term)
    axes = [at - kind.rank for at, dim in enumerate(kind.shape) if dim == WHOLE]
    return builder.apply(SLICE, (term,), {"axis": axes[0], "sizes": SIZES}) if len(axes) == 1 else None


def _kept(name: str, value: Attribute) -> Attribute:
    return sized(value, SIZES[1])


def _along_one_axis(builder: Builder) -> Iterator[Rule]:
    """Slices of what is joined, split or sliced along the same axis."""
    for axis in CONCAT_AXES:
        yield from _of_join(builder, axis)
        yield _of_guard(builder, axis)
        yield from _of_slice(builder, axis)
        yield from _of_everything(builder, axis)
        yield from _of_neighbours(builder, axis)
    yield _of_rows(builder)


def _of_rows(builder: Builder) -> Rule:
    """Some rows in one, as the values of a time step, as a part of all rows in one."""
    x = Var("x", parse_scheme("*b n+p+q k"))
    *batch, rows, columns = x.type.shape
    some = builder.apply(SLICE, (x,), {"axis": -2, "sizes": SIZES})
    in_one = builder.apply("Reshape", (some,), {"shape": (*batch, SIZES[1] * columns)})
    whole = builder.apply("Reshape", (x,), {"shape": (*batch, rows * columns)})
    part = builder.apply(SLICE, (whole,), {"axis": -1, "sizes": tuple(size * columns for size in SIZES)})
    return Rule((in_one,), (part,))


def _of_join(builder: Builder, axis: int) -> Iterator[Rule]:
    """A slice of a concatenation lies inside an operand or begins in the one and ends in the other."""
    names = [symbol(f"n{at}") for at in range(4)]
    for first, start, stop in ((3, 1, 2), (1, 2, 3), (2, 1, 3)):
        pieces = names[:first], names[first:]
        x, y = (_variable(f"x{at}", axis, total(part)) for at, part in enumerate(pieces))
        joined = builder.apply("Concat", (x, y), {"axis": axis})
        ends = (start, min(stop, first)), (max(start - first, 0), stop - first)
        parts = [
            _range(builder, term, axis, part, *place)
            for term, part, place in zip((x, y), pieces, ends, strict=True)
            if place[0] < place[1]
        ]
        target = builder.apply("Concat", parts, {"axis": axis}) if len(parts) > 1 else parts[0]
        yield Rule((_range(builder, joined, axis, names, start, stop),), (target,))


def _of_guard(builder: Builder, axis: int) -> Rule:
    """A slice of a tensor in which a number stands for what is none, as exporters write it behind a softmax."""

    def guarded(term: Term) -> Term:
        return builder.apply("Where", (builder.apply("IsNaN", (term,), {}), number, term), {})

    x, number = _variable("x0", axis, total(SIZES)), Var("x1", parse_scheme(""))
    return Rule((_range(builder, guarded(x), axis, SIZES, 1, 2),), (guarded(_range(builder, x, axis, SIZES, 1, 2)),))


def _of_slice(builder: Builder, axis: int) -> Iterator[Rule]:
    """A slice of a slice along its axis, and along every axis before it."""
    names = [symbol(f"n{at}") for at in range(5)]
    x = _variable("x0", axis, total(names))
    inner = _range(builder, x, axis, names, 1, 4)
    yield Rule((_range(builder, inner, axis, names[1:4], 1, 2),), (_range(builder, x, axis, names, 2, 3),))
    for other in range(-4, axis):
        shape: list[Dim] = [symbol(f"t{-at}") for at in range(other, 0)]
        shape[0], shape[axis] = total(names[:3]), WHOLE
        x = Var("x0", TensorType(x.type.dtype, (symbol("*b"), *shape)))
        cut, rest = names[:3], list(SIZES)
        source = _range(builder, _range(builder, x, axis, rest, 1, 2), other, cut, 1, 2)
        yield Rule((source,), (_range(builder, _range(builder, x, other, cut, 1, 2), axis, rest, 1, 2),))


def _of_neighbours(builder: Builder, axis: int) -> Iterator[Rule]:
    """Slices of one tensor, joined in their order where one ends and the next begins, are a longer slice of it."""
    for count in NEIGHBOURS:
        names = [symbol(f"n{at}") for at in range(count + 2)]
        x = _variable("x0", axis, total(names))
        parts = [_range(builder, x, axis, names, at, at + 1) for at in range(1, count + 1)]
        joined = builder.apply("Concat", parts, {"axis": axis})
        yield Rule((joined,), (_range(builder, x, axis, names, 1, count + 1),))


def _of_everything(builder: Builder, axis: int) -> Iterator[Rule]:
    """The slice that keeps all; the parts of a split as slices."""
    n, p, _ = SIZES
    x = _variable("x0", axis, n)
    yield Rule((builder.apply(SLICE, (x,), {"axis": axis, "sizes": (0, n, 0)}),), (x,))
    whole = _variable("x0", axis, n + p)
    split = builder.apply("Split", (whole,), {"axis": axis, "sizes": (n, p)})
    for part in range(2):
        yield Rule((builder.item(split, part),), (_range(builder, whole, axis, [n, p], part, part + 1),))


def _range(builder: Builder, term: Term, axis: int, pieces: Sequence[Dim], start: int, stop: int) -> Term:
    """The pieces from start to stop along an axis; the term itself where these are all."""
    if stop - start == len(pieces):
        return term
    sizes = tuple(total(part) for part in (pieces[:start], pieces[start:stop], pieces[stop:]))
    return builder.apply(SLICE, (term,), {"axis": axis, "sizes": sizes})


def _variable(name: str, axis: int, size: Dim) -> Var:
    """A tensor of any rank of at least this axis, which has this size."""
    behind = [symbol(f"t{-at}") for at in range(axis + 1, 0)]
    return Var(name, TensorType(parse_scheme("").dtype, (symbol("*b"), size, *behind)))
