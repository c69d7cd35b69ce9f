"""Candidates about channels in another order: those of a few groups, taken by turns.

Networks of cheap groups shuffle channels so that groups learn of each other, and blocks of pixels have their channels
in one order or another. A shuffle is a Reshape, a Transpose and a Reshape, which move all of a tensor; a convolution
with weights in another order moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.generate.schemes.pixels import TO_BACK, TO_FRONT
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_WINDOWS

G, M = symbol("g"), symbol("m")
C, K = symbol("c"), symbol("k")
"""The groups of channels and the channels of one; what channels are left, and the side of the blocks of pixels."""

WINDOWS: dict[str, Attribute] = {**ANY_WINDOWS, "group": 1}
CLOSE: dict[str, Attribute] = {**WINDOWS, "strides": (1, 1), "dilations": (1, 1)}
IMAGE = "n o h+i-1-p_t-p_b w+j-1-p_l-p_r"
"""Windows that leave out no pixel, and an image that has h by w of them."""

INPUTS, OUTPUTS, BIAS = -3, -4, -1
"""The axes along which an image and a kernel, a kernel, and a bias or an image with channels last have channels."""


def discover_shuffled(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about shuffles and convolutions, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed((*_before(builder), *_behind(builder), _last(builder)), builder, seed, operators)


def _before(builder: Builder) -> Iterator[Rule]:
    """A convolution of shuffled channels, with and without bias, and that with the kernel's shuffled back."""
    x, w, b = (Var(f"x{at}", parse_scheme(scheme)) for at, scheme in enumerate(("n g*m h w", "o g*m k l", "o")))
    kernel = _shuffled(builder, w, INPUTS, M, G)
    for bias in ((), (b,)):
        source = builder.apply("Conv", (_shuffled(builder, x, INPUTS, G, M), w, *bias), WINDOWS)
        yield Rule((source,), (builder.apply("Conv", (x, kernel, *bias), WINDOWS),))


def _behind(builder: Builder) -> Iterator[Rule]:
    """Shuffled results of a convolution, with and without bias, and the results of shuffled weights.

    Where the channels of one place of all blocks of pixels lie apart, those of shuffled weights lie side by side.
    """
    for count in (1, 2):
        plain, ordered = _convolved(builder, "g*m", G, M, count)
        yield Rule((_shuffled(builder, plain, INPUTS, G, M),), (ordered,))
        plain, ordered = _convolved(builder, "c*k*k", C, K * K, count)
        yield Rule((_blocks_of_their_own(builder, plain),), (builder.DepthToSpace(ordered, block=K),))


def _convolved(builder: Builder, channels: str, groups: Attribute, members: Attribute, count: int) -> tuple[Term, Term]:
    """A convolution to some channels, with a kernel and perhaps a bias, so many operands, and the same of shuffled."""
    x, w, b = (Var(f"x{at}", parse_scheme(one)) for at, one in enumerate((IMAGE, f"{channels} o i j", channels)))
    shuffled = _shuffled(builder, w, OUTPUTS, groups, members), _shuffled(builder, b, BIAS, groups, members)
    plain, ordered = (builder.apply("Conv", (x, *of[:count]), CLOSE) for of in ((w, b), shuffled))
    return plain, ordered


def _last(builder: Builder) -> Rule:
    """Channels that are brought to the end to be shuffled and back, and channels shuffled where they are."""
    x = Var("x", parse_scheme("n g*m h w"))
    last = _shuffled(builder, transposed(builder, x, TO_BACK), BIAS, G, M)
    return Rule((transposed(builder, last, TO_FRONT),), (_shuffled(builder, x, INPUTS, G, M),))


def _blocks_of_their_own(builder: Builder, image: Term) -> Term:
    """Channels moved into blocks of pixels, where those of a block stand side by side (ONNX's order CRD)."""
    batch, _, rows, columns = builder.type(image).shape
    apart = reshaped(builder, image, (batch, C, K, K, rows, columns))
    return reshaped(builder, transposed(builder, apart, (-2, -4, -1, -3)), (batch, C, rows * K, columns * K))


def _shuffled(builder: Builder, term: Term, axis: int, groups: Attribute, members: Attribute) -> Term:
    """The first of each group along an axis, then the second of each, and so on."""
    shape = builder.type(term).shape
    at = len(shape) + axis
    apart = reshaped(builder, term, (*shape[:at], groups, members, *shape[at + 1 :]))
    turned = transposed(builder, apart, (axis, axis - 1, *range(axis + 1, 0)))
    return reshaped(builder, turned, shape)
