"""Candidates about kernels of two sizes: two convolutions of one image that are added are one, with a sum of kernels.

There the smaller kernel has zeros around it (the paper's enlarge, Table 2.1), as many on each side as the other
convolution pads more. So a sum needs no partner of the same size, and no kernel is enlarged but for a partner. The
image itself, and what it is when each channel is scaled, has a kernel of one pixel.
"""

from __future__ import annotations

from itertools import product

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.literal import literal
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.cuts import G
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_WINDOWS

IMAGE, SMALL, LARGE, BIAS = "n g*c h w", "g*m c i j", "g*m c i+e_t+e_b j+e_l+e_r", "g*m"
WINDOWS: dict[str, Attribute] = {**ANY_WINDOWS, "dilations": (1, 1), "group": G}
PADS: tuple[Dim, ...] = ANY_WINDOWS["pads"]
MORE: tuple[Dim, ...] = tuple(symbol(f"e_{side}") for side in "tlbr")
"""How many zeros there are around the smaller kernel."""

CHANNELS = {"1": ("c", "c"), "c": ("c", "1"), "g": ("g*c", "c")}
"""The channels of an image and the inputs of each kernel, by the number of groups."""

AROUND_PIXEL = "1+e_t+e_b 1+e_l+e_r"
CLOSE: dict[str, Attribute] = {"dilations": (1, 1), "strides": (1, 1)}
"""A kernel of one pixel with so many around it, whose windows leave out no pixel."""


def discover_kernels(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates that add convolutions, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    pairs = (_added(builder, biased) for biased in ("", "a", "b", "ab"))
    images = (_with_image(builder, *form) for form in product(CHANNELS, (False, True), ("", "b")))
    return confirmed((*pairs, *images), builder, seed, operators)


def _added(builder: Builder, biased: str) -> Rule:
    """The sum of a convolution with a small kernel, which may have bias a, and one with a larger, which may have b."""
    x, small, large = (
        Var(name, parse_scheme(scheme)) for name, scheme in zip("xyz", (IMAGE, SMALL, LARGE), strict=True)
    )
    a, b = ([Var(name, parse_scheme(BIAS))] if name in biased else [] for name in "ab")
    wider = {**WINDOWS, "pads": tuple(pad + more for pad, more in zip(PADS, MORE, strict=True))}
    source = builder.Add(builder.apply("Conv", (x, small, *a), WINDOWS), builder.apply("Conv", (x, large, *b), wider))
    kernel = builder.Add(builder.Enlarge(small, pads=MORE), large)
    bias = [builder.Add(*a, *b)] if a and b else [*a, *b]
    return Rule((source,), (builder.apply("Conv", (x, kernel, *bias), wider),))


def _with_image(builder: Builder, groups: str, scaled: bool, biased: str) -> Rule:
    """The sum of an image, each of whose channels may be scaled, and a convolution of it, which may have bias b."""
    channels, inputs = CHANNELS[groups]
    schemes = (f"n {channels} h w", f"{channels} {inputs} {AROUND_PIXEL}", f"{channels} 1 1")
    x, large, s = (Var(name, parse_scheme(scheme)) for name, scheme in zip("xys", schemes, strict=True))
    bias = [Var(name, parse_scheme(channels)) for name in biased]
    windows: dict[str, Attribute] = {**CLOSE, "pads": MORE, "group": parse_scheme(groups).shape[0]}
    convolved = builder.apply("Conv", (x, large, *bias), windows)
    source = builder.Add(builder.Mul(x, s) if scaled else x, convolved)
    pixel = _of_image(builder, s, groups, scaled)
    kernel = builder.Add(builder.Enlarge(pixel, pads=MORE), large)
    return Rule((source,), (builder.apply("Conv", (x, kernel, *bias), windows),))


def _of_image(builder: Builder, s: Var, groups: str, scaled: bool) -> Term:
    """The kernel of one pixel that gives an image, with its channels scaled or not: of its group each has itself."""
    channels, inputs = CHANNELS[groups]
    shape, square = (parse_scheme(f"{outputs} {inputs} 1 1").shape for outputs in (channels, inputs))
    factor = s if groups == "1" else builder.Reshape(s, shape=(shape[0], 1, 1, 1))
    if groups == "c":
        return factor if scaled else builder.Expand(literal(1), shape=shape)
    kernel: Term = builder.IdentityKernel(builder.Expand(literal(1), shape=square))
    if groups == "g":
        kernel = builder.Reshape(builder.Expand(kernel, shape=(G, *square)), shape=shape)
    return builder.Mul(kernel, factor) if scaled else kernel
