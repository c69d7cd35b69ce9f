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
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.windows import ANY_WINDOWS

IMAGE, SMALL, LARGE, BIAS = "n g*c h w", "g*m c i j", "g*m c i+e_t+e_b j+e_l+e_r", "g*m"
WINDOWS: dict[str, Attribute] = {**ANY_WINDOWS, "dilations": (1, 1), "group": symbol("g")}
PADS: tuple[Dim, ...] = ANY_WINDOWS["pads"]
MORE: tuple[Dim, ...] = tuple(symbol(f"e_{side}") for side in "tlbr")
"""How many zeros there are around the smaller kernel."""

AROUND_PIXEL = "1+e_t+e_b 1+e_l+e_r"
CLOSE: dict[str, Attribute] = {"dilations": (1, 1), "strides": (1, 1)}
"""A kernel of one pixel with so many around it, whose windows leave out no pixel."""


def discover_kernels(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates that add convolutions, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    pairs = (_added(builder, biased) for biased in ("", "a", "b", "ab"))
    images = (_with_image(builder, *form) for form in product(("1", "c"), (False, True), ("", "b")))
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


def _with_image(builder: Builder, group: str, scaled: bool, biased: str) -> Rule:
    """The sum of an image, each of whose channels may be scaled, and a convolution of it, which may have bias b."""
    inputs = "1" if group == "c" else "c"
    x, large, s = (
        Var(name, parse_scheme(scheme))
        for name, scheme in zip("xys", ("n c h w", f"c {inputs} {AROUND_PIXEL}", "c 1 1"), strict=True)
    )
    bias = [Var(name, parse_scheme("c")) for name in biased]
    windows: dict[str, Attribute] = {**CLOSE, "pads": MORE, "group": parse_scheme(group).shape[0]}
    convolved = builder.apply("Conv", (x, large, *bias), windows)
    source = builder.Add(builder.Mul(x, s) if scaled else x, convolved)
    kernel = builder.Add(builder.Enlarge(_of_image(builder, s, inputs, scaled), pads=MORE), large)
    return Rule((source,), (builder.apply("Conv", (x, kernel, *bias), windows),))


def _of_image(builder: Builder, s: Var, inputs: str, scaled: bool) -> Term:
    """The kernel of one pixel that gives an image, with its channels scaled or not."""
    ones = builder.Expand(literal(1), shape=parse_scheme(f"c {inputs} 1 1").shape)
    if inputs == "1":
        return builder.Reshape(s, shape=parse_scheme("c 1 1 1").shape) if scaled else ones
    kernel = builder.IdentityKernel(ones)
    return builder.Mul(kernel, s) if scaled else kernel
