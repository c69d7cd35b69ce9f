"""Candidates about rows as pixels: a product with weights is a convolution of one pixel, where channels are rows.

Runtimes compute convolutions in blocks of channels, and products of matrices in another way. So a convolution of one
pixel is applied to the rows of one matrix or of several, turned and laid out as images of one row, and to images whose
channels are last; what type-checks and agrees in floats with the product is a candidate. Rules about one axis and
another tell already how rows that are turned pass what works element by element; of channels that are last, the
enumeration has not found all, so that each such operator is tried on these too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import REAL, parse_scheme
from taso_opt.generate.schemes.cuts import mapped, parameters
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import DOES_NOT_FIT, confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.elementwise import SWAP

ROWS = ("m k", "n m k")
"""The rows of one matrix and of several."""

IMAGES = "n h w k"
TO_FRONT, TO_BACK = (-1, -3, -2), (-2, -1, -3)
"""How the channels of images come to be first, and last again."""

WEIGHTS, BIAS = "k p", "p"

PIXEL: dict[str, Attribute] = {"dilations": (1, 1), "group": 1, "pads": (0, 0, 0, 0), "strides": (1, 1)}

LINE: dict[str, Attribute] = {"dilations": (1,), "group": 1, "pads": (0, 0), "strides": (1,)}

LAST = ((IMAGES, "p k 1 1", PIXEL, TO_FRONT, TO_BACK), ("n m k", "p k 1", LINE, SWAP, SWAP))
"""Images and lines whose channels are last, kernels and windows of one pixel, and how channels come to be first, and
last again."""


def discover_pixels(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about products with weights, and maps of channels that are last, in the order of their text form."""
    builder = library.builder()
    rules = [
        *_undone(builder),
        *_products(builder),
        *_of_last_channels(builder),
        *(rule for name in sorted(operators) for rule in _maps(builder, library.operators[name])),
    ]
    return confirmed(rules, builder, seed, operators)


def _undone(builder: Builder) -> Iterator[Rule]:
    """Channels that come to be first and last again, and the other way round."""
    x = Var("x", parse_scheme("*b c h w"))
    yield Rule((transposed(builder, transposed(builder, x, TO_BACK), TO_FRONT),), (x,))
    yield Rule((transposed(builder, transposed(builder, x, TO_FRONT), TO_BACK),), (x,))


def _products(builder: Builder) -> Iterator[Rule]:
    """A product, with a bias or without, as a convolution."""
    y, z = Var("y", parse_scheme(WEIGHTS)), Var("z", parse_scheme(BIAS))
    for scheme, convolved in (*((rows, _of_rows) for rows in ROWS), (IMAGES, _of_images)):
        x = Var("x", parse_scheme(scheme))
        plain = builder.apply("MatMul", (x, y), {})
        yield Rule((plain,), (convolved(builder, x, y),))
        yield Rule((builder.apply("Add", (plain, z), {}),), (convolved(builder, x, y, z),))


def _of_last_channels(builder: Builder) -> Iterator[Rule]:
    """A convolution of one pixel, with a bias or without, of images and lines whose channels were last, as a product.

    Its results have channels first, or last again.
    """
    for scheme, kernel, windows, to_front, to_back in LAST:
        x, y, z = (Var(name, parse_scheme(text)) for name, text in zip("xyz", (scheme, kernel, BIAS), strict=True))
        outputs, inputs, *_ = y.type.shape
        weights = transposed(builder, reshaped(builder, y, (outputs, inputs)), SWAP)
        found = builder.apply("MatMul", (x, weights), {})
        for bias in ((), (z,)):
            convolved = builder.apply("Conv", (transposed(builder, x, to_front), y, *bias), windows)
            result = builder.apply("Add", (found, *bias), {}) if bias else found
            yield Rule((convolved,), (transposed(builder, result, to_front),))
            yield Rule((transposed(builder, convolved, to_back),), (result,))


def _of_rows(builder: Builder, rows: Var, weights: Var, *bias: Var) -> Term:
    """The rows as pixels of images of one row, convolved, and as rows again."""
    *images, number, channels = rows.type.shape
    image = reshaped(builder, transposed(builder, rows, SWAP), (*(images or [1]), channels, 1, number))
    found = _convolved(builder, image, weights, *bias)
    return transposed(builder, reshaped(builder, found, (*images, weights.type.shape[-1], number)), SWAP)


def _of_images(builder: Builder, images: Var, weights: Var, *bias: Var) -> Term:
    """The images with channels first, convolved, and with channels last again."""
    found = _convolved(builder, transposed(builder, images, TO_FRONT), weights, *bias)
    return transposed(builder, found, TO_BACK)


def _convolved(builder: Builder, image: Term, weights: Var, *bias: Var) -> Term:
    channels, outputs = weights.type.shape
    kernel = reshaped(builder, transposed(builder, weights, SWAP), (outputs, channels, 1, 1))
    return builder.apply("Conv", (image, kernel, *bias), PIXEL)


def _maps(builder: Builder, operator: Operator) -> Iterator[Rule]:
    """What is computed element by element of images, with channels last before it and behind it.

    And the same about rows that are turned and laid out as pixels, where no other scheme tries these.
    """
    ways = MOVEMENTS if operator.name in FORMS else MOVEMENTS[:1]
    for (scheme, move), values in product(ways, parameters(operator)):
        for schemes in _forms(operator, scheme):
            operands = [Var(f"x{at}", parse_scheme(one)) for at, one in enumerate(schemes)]
            before = [move(builder, one) if one.type.rank else one for one in operands]
            try:
                behind = move(builder, builder.apply(operator.name, operands, values))
                numbers = builder.type(behind).dtype == REAL
                source = builder.apply(operator.name, before, values)
            except DOES_NOT_FIT:
                continue
            if numbers:
                yield Rule((source,), (behind,))


def _forms(operator: Operator, scheme: str) -> Iterator[tuple[str, ...]]:
    """The operands of a map: tensors of one scheme, and numbers."""
    if operator.elementwise and operator.arithmetic:
        yield mapped(operator, scheme)
        if operator.arity == 2:
            yield scheme, scheme
    yield from ((scheme, *numbers) for numbers in FORMS.get(operator.name, ()))


MOVEMENTS: tuple[tuple[str, Callable[[Builder, Term], Term]], ...] = (
    ("*b c h w", lambda builder, term: transposed(builder, term, TO_BACK)),
    ("*b m k", lambda builder, term: transposed(builder, term, SWAP)),
    ("*b", lambda builder, term: reshaped(builder, term, (symbol("*s"),))),
)
"""How images and rows are moved."""

FORMS: Mapping[str, tuple[tuple[str, ...], ...]] = {"Gelu": (("",), ("", ""))}
"""The numbers that operators take besides, of those that are defined by others."""
