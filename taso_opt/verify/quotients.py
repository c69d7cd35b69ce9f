"""Reads sizes that contain quotients, which type inference keeps as symbols named after themselves."""

from __future__ import annotations

from collections.abc import Iterator

from taso_opt.core.dims import STAR, Dim, Size, symbol

QUOTIENT = "floor(("


def quotient(name: str) -> tuple[Dim, Dim]:
    """Dividend and divisor of a symbol named `floor((a)/(b))`."""
    inner = name[len(QUOTIENT) : -len("))")]
    depth = 0
    for at, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return read_size(inner[:at]), read_size(inner[at + len(")/(") :])
    raise AssertionError(f"expected a quotient of two sizes, found {name}")


def read_size(text: str) -> Dim:
    """Read what `str` of a size writes, quotients included."""
    if text.startswith(STAR):
        return symbol(text)
    total: Dim = 0
    for sign, summand in _parts(text, "+-"):
        product: Dim = -1 if sign == "-" else 1
        for _, factor in _parts(summand, "*"):
            product = (int(factor) if factor.isdecimal() else symbol(factor)) * product
        total = product + total if isinstance(product, Size) else total + product
    return total


def _parts(text: str, separators: str) -> Iterator[tuple[str, str]]:
    """The parts of a text between separators outside parentheses, each with the separator before it."""
    depth, start, before = 0, 0, ""
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and character in separators:
            if at > start:
                yield before, text[start:at]
            before, start = character, at + 1
    yield before, text[start:]
