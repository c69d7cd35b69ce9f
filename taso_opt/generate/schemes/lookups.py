"""Candidates about what is looked up: a result at some places is the result for the operands at these places.

What a table or the nodes of a graph go through after they were looked up, each as often as it is asked for, can be
computed once for each row before; and what all rows go through of which a few are picked can be computed for these.
Each operator is applied to operands of which one axis is cut for slices; places are looked up along that axis, and
may have any shape where it is the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import PLACES, REAL, TensorType, parse_scheme
from taso_opt.generate.schemes.cuts import CUT, Cut, cuts, sized
from taso_opt.generate.schemes.passing import confirmed, passed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary

GATHER = "Gather"
AXIS = -2
"""Rows are looked up: what is behind them are the numbers of one row."""

ROWS = symbol("rows")
BATCH = "*b "
ANY_SHAPE = ("*j", "*j l")
"""The places where rows are looked up in a single matrix."""

IN_LINE = "l"
"""And in each of several matrices."""


def discover_lookups(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a lookup meets one of the named operators, in the order of their text form."""
    if GATHER not in operators:
        return ()
    builder = library.builder()
    return confirmed(_candidates(library, builder), builder, seed, operators)


def _candidates(library: SpecLibrary, builder: Builder) -> Iterator[Rule]:
    yield _reshaped(builder)
    yield from _sliced(builder)
    for name, operator in sorted(library.operators.items()):
        for cut in cuts(operator):
            for places, form in _forms(cut):
                rule = passed(builder, name, form, partial(_looked_up, places), partial(_kept, places))
                if rule is not None and builder.type(rule.source[0]).dtype == REAL:
                    yield rule


def _reshaped(builder: Builder) -> Rule:
    """Rows that are looked up in one shape and needed in another."""
    x, places = Var("x", parse_scheme("m k")), _places("*j")
    columns, shape = x.type.shape[-1], symbol("*s")
    found = builder.apply(GATHER, (x, places), {"axis": AXIS})
    moved = builder.apply("Reshape", (places,), {"shape": (shape,)})
    source = builder.apply("Reshape", (found,), {"shape": (shape, columns)})
    return Rule((source,), (builder.apply(GATHER, (x, moved), {"axis": AXIS}),))


def _sliced(builder: Builder) -> Iterator[Rule]:
    """Some of the numbers of each row."""
    columns: dict[str, Attribute] = {"axis": -1, "sizes": tuple(map(symbol, "npq"))}
    for scheme, shape in ((f"{BATCH}m n+p+q", IN_LINE), *(("m n+p+q", shape) for shape in ANY_SHAPE)):
        x, places = Var("x", parse_scheme(scheme)), _places(shape)
        part = builder.apply("Slice", (x,), columns)
        source, target = (builder.apply(GATHER, (one, places), {"axis": AXIS}) for one in (x, part))
        yield Rule((builder.apply("Slice", (source,), columns),), (target,))


def _forms(cut: Cut) -> Iterator[tuple[Var, Cut]]:
    """Places, and operands whose rows are looked up there: several matrices, or a single one."""
    schemes = tuple(scheme.replace(CUT, str(ROWS)) for scheme in cut.schemes)
    several = Cut(schemes, {name: sized(value, ROWS) for name, value in cut.attributes.items()})
    yield _places(IN_LINE), several
    if any(scheme.startswith(f"{BATCH}{CUT}") for scheme in cut.schemes):
        single = Cut(tuple(scheme.removeprefix(BATCH) for scheme in schemes), several.attributes)
        yield from ((_places(shape), single) for shape in ANY_SHAPE)


def _places(scheme: str) -> Var:
    return Var("i", TensorType(PLACES, parse_scheme(scheme).shape))


def _looked_up(places: Var, builder: Builder, term: Term) -> Term | None:
    """The rows of a term at some places; None when its rows are not what is cut."""
    shape = builder.type(term).shape
    cut = [at - len(shape) for at, dim in enumerate(shape) if dim == ROWS]
    return builder.apply(GATHER, (term, places), {"axis": AXIS}) if cut == [AXIS] else None


def _kept(places: Var, name: str, value: Attribute) -> Attribute:
    """An attribute that speaks of the cut size, such as a shape, for the places."""
    if not isinstance(value, tuple):
        return value
    kept: list[Attribute] = []
    for part in value:
        kept += places.type.shape if part == ROWS else [_kept(places, name, part)]
    return tuple(kept)
