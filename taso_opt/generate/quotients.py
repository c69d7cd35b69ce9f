"""Reads the sizes of equations that are not general yet: images behind strided windows have quotients in theirs."""

from __future__ import annotations

import re

from taso_opt.core.dims import Dim, divide, parse_dim, substitute

INNERMOST = re.compile(r"(?<!\w)floor\(\(([^()]*)\)/\(([^()]*)\)\)(?!\w)")


def parse_size(text: str) -> Dim:
    """Read what `str` of a size writes, quotients included; ValueError otherwise."""
    known: dict[str, Dim] = {}
    while (found := INNERMOST.search(text)) is not None:
        dividend, divisor = (substitute(parse_dim(part), known.get) for part in found.groups())
        name = f"_quotient_{len(known)}"
        known[name] = divide(dividend, divisor)
        text = f"{text[: found.start()]}{name}{text[found.end() :]}"
    return substitute(parse_dim(text), known.get)
