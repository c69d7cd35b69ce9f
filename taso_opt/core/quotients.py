"""Reads sizes with quotients in them, as of images behind strided windows: symbols that are named after themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from taso_opt.core.dims import Dim, Size, divide, parse_dim, quotient_parts, substitute

QUOTIENT = "floor(("
"""How the names of symbols begin that stand for quotients."""

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


def symbols_below(dim: Dim) -> Iterator[str]:
    """The symbols of a size, those inside its quotients in their place."""
    if isinstance(dim, Size):
        for name in dim.symbols():
            if name.startswith(QUOTIENT):
                for part in quotient(name):
                    yield from symbols_below(part)
            else:
                yield name


def quotient(name: str) -> tuple[Dim, Dim]:
    """Dividend and divisor of a symbol named `floor((a)/(b))`."""
    known = quotient_parts(name)
    if known is not None:
        return known
    inner = name[len(QUOTIENT) : -len("))")]
    depth = 0
    for at, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return parse_size(inner[:at]), parse_size(inner[at + len(")/(") :])
    raise AssertionError(f"expected a quotient of two sizes, found {name}")
