"""Candidates about what is done to each feature before and behind a linear operator: its weights can do it.

A model that takes raw images or measurements often brings them to one scale first, each channel by numbers of its own.
So each linear operator is applied to data that are scaled or shifted by a number for each feature; the same on scaled
weights, or with the sum of those added to what it gives, is a candidate where types and floats agree. Windows that
reach over the border see zeros there, which no shift has touched: shifts are tried without padding. Scales and shifts
are also tried behind the transposition that brings images from the layout that has channels last to that of
convolutions. Behind a linear operator each result is divided, by a number of its own or by one for all, lowered, or
what is lowered, and with a bias it is multiplied too; other multiples and sums are what the enumeration finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.lines import LINES
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.elementwise import SWAP
from taso_opt.spec.shared.windows import ANY_WINDOWS


@dataclass(frozen=True)
class Linear:
    """A linear operator: the schemes of its data, of its weights and of the numbers for the features of the data.

    `beside` is the shape in which these numbers stand beside the weights, `summed` the axes of weights along which a
    result adds up, and `result` the shape in which such sums are added to what the operator gives: one without
    attributes has them added, a convolution adds them itself. `turned` products have the weights first.
    """

    data: str
    weights: str
    features: str
    beside: str
    summed: tuple[int, ...]
    result: str
    turned: bool = False
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def applied(self, builder: Builder, x: Term, w: Term, *bias: Term) -> Term:
        """The operator on some data and weights, and on a bias if it is given one."""
        if self.attributes:
            return builder.apply("Conv", (x, w, *bias), self.attributes)
        return builder.MatMul(w, x) if self.turned else builder.MatMul(x, w)


def _windows(data: str, weights: str, features: str, beside: str, result: str, group: str) -> Linear:
    """A convolution of images or of lines."""
    windows = ANY_WINDOWS if len(data.split()) == len(ANY_WINDOWS["pads"]) else LINES
    summed = tuple(range(1 - len(weights.split()), 0))
    attributes = {**windows, "group": parse_scheme(group).shape[0]}
    return Linear(data, weights, features, beside, summed, result, attributes=attributes)


FORMS = (
    Linear("*b m k", "k n", "k", "k 1", (-2,), "n"),
    Linear("*b m k", "k n", "", "", (-2,), "n"),
    Linear("*b m k", "*b k n", "k", "k 1", (-2,), "*b 1 n"),
    Linear("*b k n", "m k", "k 1", "k", (-1,), "m 1", turned=True),
    Linear("*b k n", "m k", "", "", (-1,), "m 1", turned=True),
    _windows("n c h w", "m c i j", "c 1 1", "c 1 1", "m", "1"),
    _windows("n g h w", "g 1 i j", "g 1 1", "g 1 1 1", "g", "g"),
    _windows("n g*c h w", "g*m c i j", "", "", "g*m", "g"),
    _windows("n c w", "m c k", "c 1", "c 1", "m", "1"),
    _windows("n g w", "g 1 k", "g 1", "g 1 1", "g", "g"),
    _windows("n g*c w", "g*m c k", "", "", "g*m", "g"),
)
"""Products with the weights on either side, and convolutions with few, one or all channels in a group."""

RESULTS = (
    Linear("*b m k", "k n", "n", "n", (), "n"),
    _windows("n g*c h w", "g*m c i j", "g*m 1 1", "g*m 1 1 1", "g*m", "g"),
    _windows("n g*c w", "g*m c k", "g*m 1", "g*m 1 1", "g*m", "g"),
)
"""The same with numbers for the features of results; a convolution has a bias of the shape `result`."""

CHANGES, SCALINGS = ("Add", "Div", "Mul", "Sub"), ("Div", "Mul")
LAYOUTS = (((-1, -3, -2), "*b h w c", "c", "c 1 1"), ((-1, -3, -2), "*b h w c", "", ""), (SWAP, "*b l c", "c", "c 1"))
"""Transpositions of what has channels last, and the shape of numbers that belong to channels, before and behind."""


def discover_features(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which features are scaled or shifted before named operators, in the order of their text form."""
    builder = library.builder()
    plain = (rule for form in FORMS for rule in _candidates(builder, form))
    behind = (rule for form in RESULTS for rule in _behind(builder, form))
    return confirmed((*plain, *behind, *_transposed(builder)), builder, seed, operators)


def _candidates(builder: Builder, form: Linear) -> Iterator[Rule]:
    x, w, s, z = (
        Var(name, parse_scheme(scheme))
        for name, scheme in zip("xwsz", (form.data, form.weights, form.features, form.result), strict=True)
    )
    scaled = builder.Mul(w, _shaped(builder, s, form.beside))
    given = _shaped(builder, builder.ReduceSum(scaled, axes=form.summed), form.result)
    inside = replace(form, attributes={key: _inside(key, value) for key, value in form.attributes.items()})
    for bias in ((), (z,)) if form.attributes else ((),):
        source = form.applied(builder, builder.Mul(x, s), w, *bias)
        yield Rule((source,), (form.applied(builder, x, scaled, *bias),))
        for shifted, target in _shifts(builder, inside, x, w, s, given, *bias):
            yield Rule((inside.applied(builder, shifted, w, *bias),), (target,))


def _shifts(
    builder: Builder, form: Linear, x: Term, w: Term, s: Term, given: Term, *bias: Term
) -> Iterator[tuple[Term, Term]]:
    """A shift added, taken away, or what it is taken from, each with what the operator gives instead."""
    shifts = builder.Add(x, s), builder.Sub(x, s), builder.Sub(s, x)
    if form.attributes:
        more, less = (builder.Add(*bias, given), builder.Sub(*bias, given)) if bias else (given, builder.Neg(given))
        kernels = (w, more), (w, less), (builder.Neg(w), more)
        targets = tuple(form.applied(builder, x, *weights) for weights in kernels)
    else:
        whole = form.applied(builder, x, w)
        targets = builder.Add(whole, given), builder.Sub(whole, given), builder.Sub(given, whole)
    return zip(shifts, targets, strict=True)


def _behind(builder: Builder, form: Linear) -> Iterator[Rule]:
    """What is done to each result, with a bias or without, and the operator with weights and a bias that do it."""
    x, w, s, z = (
        Var(name, parse_scheme(scheme))
        for name, scheme in zip("xwsz", (form.data, form.weights, form.features, form.result), strict=True)
    )
    yield from _scaled(builder, form, x, w, s, z)
    yield from _scaled(builder, form, x, w, Var("s", parse_scheme("")), z)
    if form.attributes:
        given = _shaped(builder, s, form.result)
        whole, biased = form.applied(builder, x, w), form.applied(builder, x, w, z)
        for source, kernel, bias in (
            (builder.Sub(whole, s), w, builder.Neg(given)),
            (builder.Sub(biased, s), w, builder.Sub(z, given)),
            (builder.Sub(s, whole), builder.Neg(w), given),
            (builder.Sub(s, biased), builder.Neg(w), builder.Sub(given, z)),
        ):
            yield Rule((source,), (form.applied(builder, x, kernel, bias),))


def _scaled(builder: Builder, form: Linear, x: Var, w: Var, s: Var, z: Var) -> Iterator[Rule]:
    """Results that are divided, those with a bias multiplied as well: by a number for each feature, or one for all."""
    beside, given = (_shaped(builder, s, shape) if s.type.rank else s for shape in (form.beside, form.result))
    whole, divided = form.applied(builder, x, w), form.applied(builder, x, builder.Div(w, beside))
    yield Rule((builder.Div(whole, s),), (divided,))
    for name in SCALINGS:
        weights, bias = builder.apply(name, (w, beside), {}), builder.apply(name, (z, given), {})
        if form.attributes:
            biased, scaled = form.applied(builder, x, w, z), form.applied(builder, x, weights, bias)
        else:
            biased, scaled = builder.Add(whole, z), builder.Add(form.applied(builder, x, weights), bias)
        yield Rule((builder.apply(name, (biased, s), {}),), (scaled,))


def _transposed(builder: Builder) -> Iterator[Rule]:
    """What is scaled or shifted and then transposed, and the same transposed first."""
    for (perm, data, before, behind), name in product(LAYOUTS, CHANGES):
        x, s = Var("x", parse_scheme(data)), Var("s", parse_scheme(before))
        changed = builder.apply(name, (x, s), {})
        target = builder.apply(name, (builder.Transpose(x, perm=perm), _shaped(builder, s, behind)), {})
        yield Rule((builder.Transpose(changed, perm=perm),), (target,))


def _shaped(builder: Builder, term: Term, shape: str) -> Term:
    """A term in a shape, as it is if it has that."""
    wanted = parse_scheme(shape).shape
    return term if builder.type(term).shape == wanted else builder.Reshape(term, shape=wanted)


def _inside(name: str, value: Attribute) -> Attribute:
    """An attribute of windows that stay inside the image."""
    return (0,) * len(value) if name == "pads" and isinstance(value, tuple) else value
