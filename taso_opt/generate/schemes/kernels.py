"""Candidates about kernels of two sizes: two convolutions of one image that are added are one, with a sum of kernels.

There the smaller kernel has zeros around it (the paper's enlarge, Table 2.1), as many on each side as the other
convolution pads more. So a sum needs no partner of the same size, and no kernel is enlarged but for a partner.
"""

from __future__ import annotations

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Var
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


def discover_kernels(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates that add convolutions, with the named operators alone, in the order of their text form."""
    builder = library.builder()
    return confirmed((_added(builder, biased) for biased in ("", "a", "b", "ab")), builder, seed, operators)


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
