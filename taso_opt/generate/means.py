"""Candidates about means and sums: the mean of what a linear operator gives is what it gives for means.

Behind a mean over tokens or pixels the operator has only one of them to compute. As with slices, each operator is
applied to operands with axes of the sizes that are averaged, and what type-checks and agrees in floats is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term
from taso_opt.generate.canonical import canonical
from taso_opt.generate.confirm import holds_in_floats
from taso_opt.generate.cuts import POINTWISE, Cut, G
from taso_opt.generate.passing import INSTANCES, operators_of, passed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import format_rule

REDUCTIONS = ("ReduceMean", "ReduceSum")
AVERAGED = (symbol("u"), symbol("v"))

PAIRS = (
    *("*b u m; *b u m", "*b u m; m", "*b u m; "),
    *("*b u; *b u", "*b u; *b 1", "*b u v; *b u v", "*b u v; ", "*b c u v; c 1 1", "*b c u v; *b c 1 1"),
)
"""Operands of element-wise operators, averaged over the rows, over the columns or over an image."""

FORMS: Mapping[str, tuple[Cut, ...]] = {
    "MatMul": tuple(Cut(tuple(form.split("; "))) for form in ("*b u k; k m", "*b u k; *b k m")),
    **{name: tuple(Cut(tuple(form.split("; "))) for form in PAIRS) for name in ("Add", "Sub", "Mul")},
    "Concat": (Cut(("*b u k", "*b u l"), {"axis": -1}), Cut(("*b k u v", "*b l u v"), {"axis": -3})),
    "Conv": tuple(Cut(("m g*c u v", "g*d c 1 1", *bias), {**POINTWISE, "group": G}) for bias in ((), ("g*d",))),
}


def discover_means(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a mean or a sum meets one of the named operators, in the order of their text form."""
    builder = library.builder()
    found: dict[str, Rule] = {}
    for rule in _candidates(builder, [name for name in REDUCTIONS if name in operators]):
        if operators_of(rule) <= operators and holds_in_floats(rule, builder, seed, INSTANCES):
            general = canonical(rule, builder)
            found[format_rule(general)] = general
    return tuple(found[text] for text in sorted(found))


def _candidates(builder: Builder, reductions: Sequence[str]) -> Iterator[Rule]:
    for reduction, (name, forms) in product(reductions, FORMS.items()):
        for cut in forms:
            rule = passed(builder, name, cut, partial(_reduced, reduction), lambda value: value)
            if rule is not None:
                yield rule


def _reduced(reduction: str, builder: Builder, term: Term) -> Term | None:
    """The mean or sum over the averaged axes of a term; None when it has none."""
    kind = builder.type(term)
    axes = tuple(at - kind.rank for at, dim in enumerate(kind.shape) if dim in AVERAGED)
    return builder.apply(reduction, (term,), {"axes": axes}) if axes else None
