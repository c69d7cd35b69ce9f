"""What means, sums and enlargements take of which operands of each operator, to see where they can stand before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Attribute, Term
from taso_opt.generate.schemes.cuts import INTERPOLATED, POINTWISE, SCALES, SELDOM, Cut, G, mapped, parameters
from taso_opt.generate.schemes.passing import Kept, Take
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

U, V = symbol("u"), symbol("v")
NEXT = (1, 1)


Forms: TypeAlias = Iterator[tuple[str, Cut]]


@dataclass(frozen=True)
class Taken:
    """An operator that is taken of terms with axes of the sizes u and v, and what it is tried around.

    `kept` gives the attributes of what is tried for the operands of which it is taken.
    """

    take: Take
    forms: Callable[[SpecLibrary], Forms]
    kept: Kept = lambda name, value: value


PAIRS = (
    *("*b u m; *b u m", "*b u m; m", "*b u m; "),
    *("*b u; *b u", "*b u; *b 1", "*b u v; *b u v", "*b u v; ", "*b c u v; c 1 1", "*b c u v; *b c 1 1"),
)
"""Operands of element-wise operators, averaged over the rows, over the columns or over an image."""

REPEATED = ("*b u v; *b u v", "*b u v; ", "*b c u v; c 1 1", "*b c u v; *b c 1 1")
"""Operands of element-wise operators on images with repeated rows and columns."""

LINEAR: Mapping[str, tuple[Cut, ...]] = {
    "MatMul": tuple(Cut(tuple(form.split("; "))) for form in ("*b u k; k m", "*b u k; *b k m")),
    **{name: tuple(Cut(tuple(form.split("; "))) for form in PAIRS) for name in ("Add", "Sub", "Mul")},
    "Concat": (Cut(("*b u k", "*b u l"), {"axis": -1}), Cut(("*b k u v", "*b l u v"), {"axis": -3})),
    "Conv": tuple(Cut(("m g*c u v", "g*d c 1 1", *bias), {**POINTWISE, "group": G}) for bias in ((), ("g*d",))),
}


def _linear(library: SpecLibrary) -> Forms:
    for name, cuts in LINEAR.items():
        yield from ((name, cut) for cut in cuts)


def _of_images(library: SpecLibrary) -> Forms:
    """The same for operands that are images and nothing else."""
    for name, cut in _linear(library):
        schemes = tuple(scheme.replace("*b u v", "n c u v").replace("*b", "n") for scheme in cut.schemes)
        yield name, Cut(schemes, cut.attributes)


def _repeated(library: SpecLibrary) -> Forms:
    """What computes every element from the elements at one place, whatever function of them it is."""
    for name, operator in sorted(library.operators.items()):
        if operator.is_map:
            yield from ((name, Cut(mapped(operator, "*b u v"), values)) for values in parameters(operator))
        elif name in ("Add", "Div", "Mul", "PRelu", "Sub"):
            pairs = [tuple(form.split("; ")) for form in REPEATED]
            turned = [] if operator.commutative or name in SELDOM else [pair[::-1] for pair in pairs]
            yield from ((name, Cut(pair)) for pair in dict.fromkeys([*pairs, *turned]))
    yield from ((name, cut) for name in ("Concat", "Conv") for cut in LINEAR[name])


def _reduced(name: str, builder: Builder, term: Term) -> Term | None:
    """The mean or sum over the averaged axes of a term; None when it has none."""
    axes = _axes(builder, term)
    return builder.apply(name, (term,), {"axes": axes}) if axes else None


def _pooled(builder: Builder, term: Term) -> Term | None:
    """The mean over the pixels of an image; None of what has none."""
    return builder.apply("GlobalAveragePool", (term,), {}) if _axes(builder, term) == (-2, -1) else None


def _enlarged(builder: Builder, term: Term) -> Term | None:
    """Rows and columns repeated; None of what has none."""
    return builder.apply("Resize", (term,), {"scales": SCALES}) if _axes(builder, term) == (-2, -1) else None


def _interpolated(builder: Builder, term: Term) -> Term | None:
    """Rows and columns with others between them; None of what has none."""
    return builder.apply("Interpolate", (term,), INTERPOLATED) if _axes(builder, term) == (-2, -1) else None


def _sliding(library: SpecLibrary) -> Forms:
    """Windows at every pixel, of any size and with any pads."""
    dense: dict[str, Attribute] = {**ANY_WINDOWS, "strides": NEXT}
    for bias in ((), ("g*m",)):
        yield "Conv", Cut(("n g*c h w", "g*m c i j", *bias), {**dense, "group": G})
    yield "MaxPool", Cut(("n c h w",), {**dense, **ANY_KERNEL})
    dense.pop("dilations")
    for count in (0, 1):
        yield "AveragePool", Cut(("n c h w",), {**dense, **ANY_KERNEL, "count_include_pad": count})


def _subsampled(builder: Builder, term: Term) -> Term | None:
    """Every so many pixels of a result; all of operands, of which fewer windows are taken."""
    return builder.apply("Subsample", (term,), {"strides": SCALES}) if isinstance(term, Apply) else None


def _strided(name: str, value: Attribute) -> Attribute:
    return SCALES if value == NEXT else value


def _axes(builder: Builder, term: Term) -> tuple[int, ...]:
    kind = builder.type(term)
    return tuple(at - kind.rank for at, dim in enumerate(kind.shape) if dim in (U, V))


TAKEN: Mapping[str, Taken] = {
    "ReduceMean": Taken(partial(_reduced, "ReduceMean"), _linear),
    "ReduceSum": Taken(partial(_reduced, "ReduceSum"), _linear),
    "GlobalAveragePool": Taken(_pooled, _of_images),
    "Interpolate": Taken(_interpolated, _of_images),
    "Resize": Taken(_enlarged, _repeated),
    "Subsample": Taken(_subsampled, _sliding, _strided),
}
