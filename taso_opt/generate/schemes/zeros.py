"""Candidates about zeros beside a tensor: it is a slice of itself with zeros, which sums over an axis do not see.

So where an operator sums over an axis, it gives for a slice of one operand what it gives for all of it and zeros in the
other. Both say how channels can be added that lead to nothing, as where a runtime computes blocks of channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from taso_opt.core.dims import Dim
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.cuts import Cut
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.generate.schemes.slices import SIZES, SLICE
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_WINDOWS

PAD = "Pad"
BEFORE, KEPT, BEHIND = SIZES
ALL = BEFORE + KEPT + BEHIND

ALONE = ("@", "*b @ h w", "*b @ c h w")
"""A tensor with zeros along one axis: a bias, channels and the outputs of a kernel; images have zeros around pixels."""

SUMMED: Mapping[str, tuple[Cut, ...]] = {
    "MatMul": tuple(Cut(tuple(form.split("; "))) for form in ("*b m @; @ k", "*b m @; *b @ k", "m @; *b @ k")),
    "Conv": tuple(Cut(("m @ h w", "c @ i j", *bias), {**ANY_WINDOWS, "group": 1}) for bias in ((), ("c",))),
}
"""Operators that sum over an axis of two operands."""


def discover_zeros(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which zeros meet slices and one of the named operators, in the order of their text form."""
    builder = library.builder()
    rules = (*_kept(builder), *_summed(builder)) if {SLICE, PAD} <= operators else ()
    return confirmed(rules, builder, seed, operators)


def _kept(builder: Builder) -> Iterator[Rule]:
    """What zeros were put beside is what is left when they are taken away."""
    for scheme in ALONE:
        x, axis = _operand("x", scheme, str(KEPT))
        yield Rule((_cut(builder, _padded(builder, x, axis), axis),), (x,))


def _summed(builder: Builder) -> Iterator[Rule]:
    """A slice of one operand, or zeros in the other."""
    for name, cuts in SUMMED.items():
        for cut in cuts:
            for sliced, other in ((0, 1), (1, 0)):
                sizes = {sliced: str(ALL), other: str(KEPT)}
                made = [_operand(f"x{at}", scheme, sizes.get(at, "")) for at, scheme in enumerate(cut.schemes)]
                few: list[Term] = [term for term, _ in made]
                many = list(few)
                few[sliced] = _cut(builder, *made[sliced])
                many[other] = _padded(builder, *made[other])
                yield Rule((builder.apply(name, few, cut.attributes),), (builder.apply(name, many, cut.attributes),))


def _operand(name: str, scheme: str, size: str) -> tuple[Var, int]:
    """A variable whose marked axis has a size, and this axis, counted from the end."""
    parts = scheme.split()
    axis = parts.index("@") - len(parts) if "@" in parts else 0
    return Var(name, parse_scheme(scheme.replace("@", size))), axis


def _cut(builder: Builder, term: Term, axis: int) -> Term:
    return builder.apply(SLICE, (term,), {"axis": axis, "sizes": SIZES})


def _padded(builder: Builder, term: Term, axis: int) -> Term:
    """A term with zeros along one axis; as when a model is read, the last two axes are said where there are two."""
    axes = max(-axis, min(builder.type(term).rank, 2))
    pads: list[Dim] = [0] * (2 * axes)
    pads[axis + axes], pads[axis] = BEFORE, BEHIND
    return builder.apply(PAD, (term,), {"pads": tuple(pads)})
