"""Sizes of tensor axes: plain integers, or polynomials over named symbols such as `n`, `n+p` or `m*k`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from taso_opt.errors import TypeMismatch

STAR = "*"
"""A symbol whose name starts with a star stands for any number of adjacent axes (`*b` in `x[*b, m, k]`).

Inference treats it as one axis. That is sound because operators never look inside it: merging the axes that it
stands for into one is a bijection that commutes with every operator whose attributes count axes from the end.
"""

Monomial = tuple[str, ...]

MAX_DIGITS = 18
"""Every size of a tensor that exists fits."""

MAX_TERMS, MAX_FACTORS = 4096, 32
"""A product of sums grows exponentially; nothing but a hostile rule comes near this, or multiplies so many sizes."""


@dataclass(frozen=True, slots=True)
class Size:
    """A polynomial with integer coefficients: `terms` maps each sorted monomial to its coefficient."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def is_star(self) -> bool:
        """Whether this is a lone star symbol."""
        name = self.symbol
        return name is not None and name.startswith(STAR)

    @property
    def symbol(self) -> str | None:
        """The name when this is a lone symbol, else None."""
        if len(self.terms) != 1:
            return None
        monomial, coefficient = self.terms[0]
        return monomial[0] if coefficient == 1 and len(monomial) == 1 else None

    def symbols(self) -> tuple[str, ...]:
        """Every symbol that occurs, in order of first occurrence."""
        return _symbols(self.terms)

    def __add__(self, other: Dim) -> Dim:
        return polynomial((*self.terms, *terms_of(other)))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _size({monomial: -coefficient for monomial, coefficient in self.terms})

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __mul__(self, other: Dim) -> Dim:
        if len(self.terms) * len(terms_of(other)) > MAX_TERMS:
            raise TypeMismatch(f"expected sizes whose product has at most {MAX_TERMS} terms, found more")
        return polynomial((_together(left, right), a * b) for left, a in self.terms for right, b in terms_of(other))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Dim) -> Dim:
        """Exact division stays a polynomial; anything else becomes one opaque symbol named after itself."""
        return divide(self, divisor)

    def __rfloordiv__(self, dividend: int) -> Dim:
        return divide(dividend, self)

    def __str__(self) -> str:
        return _text(self.terms)

    __repr__ = __str__


Dim = int | Size


def sizes_in(value: object) -> list[Size]:
    """The sizes that are no numbers in a shape or in the value of an attribute, in order."""
    if isinstance(value, tuple):
        return [size for part in value for size in sizes_in(part)]
    return [value] if isinstance(value, Size) else []


def symbols_in(value: object) -> list[str]:
    """The symbols of all sizes in a shape or in the value of an attribute, those of several sizes several times."""
    return [name for size in sizes_in(value) for name in size.symbols()]


@lru_cache(maxsize=4096)
def _symbols(terms: tuple[tuple[Monomial, int], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for monomial, _ in terms for name in monomial))


@lru_cache(maxsize=4096)
def _text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    parts = []
    for monomial, coefficient in terms:
        factors = "*".join(monomial)
        scaled = factors if coefficient == 1 else f"{coefficient}*{factors}"
        parts.append(scaled if monomial else str(coefficient))
    return "+".join(parts).replace("+-", "-")


def symbol(name: str) -> Size:
    """The size that consists of one symbol."""
    return Size((((name,), 1),))


_QUOTIENTS: dict[str, tuple[Dim, Dim]] = {}
"""Of each symbol that stands for a quotient: what is divided, and by what."""


def divide(dividend: Dim, divisor: Dim) -> Dim:
    """Floor division: told where every term but a number is divisible, else one opaque symbol named after the quotient.

    Symbols that divide are at least 1: what is 1 less than a multiple of one holds it one time less than that.
    """
    if divisor == 0:
        raise TypeMismatch(f"expected a size to divide {dividend} by, found 0")
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor
    factor, name = (divisor, None) if isinstance(divisor, int) else (1, divisor.symbol)
    if isinstance(divisor, int) or name is not None:
        terms = [(monomial, coefficient) for monomial, coefficient in terms_of(dividend) if monomial]
        number = sum(coefficient for monomial, coefficient in terms_of(dividend) if not monomial)
        exact = all(coefficient % factor == 0 and (name is None or name in monomial) for monomial, coefficient in terms)
        if exact and (name is None or number in (0, -1)):
            whole = _size({_without(monomial, name): coefficient // factor for monomial, coefficient in terms})
            return whole + (number // factor if name is None else number)
    elif isinstance(divisor, Size) and isinstance(dividend, Size):
        quotient = _long_division(dividend, divisor)
        if quotient is not None:
            return quotient
    quotient = symbol(f"floor(({dividend})/({divisor}))")
    _QUOTIENTS.setdefault(quotient.terms[0][0][0], (dividend, divisor))
    return quotient


def _long_division(dividend: Size, divisor: Size) -> Dim | None:
    """The exact quotient of two polynomials, None where a rest is left."""
    leader, scale = divisor.terms[0]
    rest: Dim = dividend
    quotient: Dim = 0
    for _ in range(MAX_TERMS // len(divisor.terms)):  # the rest may grow by as many terms each time
        if isinstance(rest, int):
            return quotient if rest == 0 else None
        monomial, coefficient = rest.terms[0]
        left = list(monomial)
        if coefficient % scale or any(left.count(name) < leader.count(name) for name in leader):
            return None
        for name in leader:
            left.remove(name)
        part = _size({tuple(left): coefficient // scale})
        quotient, rest = quotient + part, rest - divisor * part
    return None


def product(dims: tuple[Dim, ...]) -> Dim:
    """The number of elements of a shape."""
    result: Dim = 1
    for dim in dims:
        result = dim * result
    return result


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of sizes."""
    result: Dim = 0
    for dim in dims:
        result = dim + result
    return result


def terms_of(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    """Monomials with their coefficients."""
    return dim.terms if isinstance(dim, Size) else (((), dim),)


def polynomial(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    """The size with these terms, the names of each in order; the inverse of `terms_of`."""
    merged: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        merged[monomial] = merged.get(monomial, 0) + coefficient
    return _size(merged)


def bind(dim: Dim, values: Mapping[str, int]) -> Dim:
    """Replace the symbols that `values` names by integers, and quotients of these by their own."""
    return substitute(dim, lambda name: _bound(name, values))


def _bound(name: str, values: Mapping[str, int]) -> int | None:
    if name in values or name not in _QUOTIENTS:
        return values.get(name)
    dividend, divisor = (bind(part, values) for part in _QUOTIENTS[name])
    return dividend // divisor if isinstance(dividend, int) and isinstance(divisor, int) and divisor else None


def quotient_parts(name: str) -> tuple[Dim, Dim] | None:
    """Dividend and divisor of a symbol that stands for a quotient formed in this process; None for any other."""
    return _QUOTIENTS.get(name)


def open_symbols(dim: Dim, values: Mapping[str, int]) -> Iterator[str]:
    """The symbols that `bind` lacks a value of, those in quotients in place of the quotients."""
    for name in symbols_in(dim):
        if name in values:
            continue
        parts = _QUOTIENTS.get(name)
        if parts is None:
            yield name
        for part in parts or ():
            yield from open_symbols(part, values)


def substitute(dim: Dim, replacement: Callable[[str], Dim | None]) -> Dim:
    """Replace every symbol by what `replacement` returns for it, keeping those for which it returns None."""
    if isinstance(dim, int):
        return dim
    lone = dim.symbol
    if lone is not None:
        found = replacement(lone)
        return dim if found is None else found
    terms: list[tuple[Monomial, int]] = []
    for monomial, coefficient in dim.terms:
        values = [(name, replacement(name)) for name in monomial]
        factor = _size({tuple(name for name, value in values if value is None): coefficient})
        for _, value in values:
            factor = factor if value is None else value * factor
        terms += terms_of(factor)
    return polynomial(terms)


_TERM = re.compile(r"[+-]?[^+-]+")


@lru_cache(maxsize=4096)
def parse_dim(text: str) -> Dim:
    """Read what `str` of a size writes: integers, symbols, `*`-products and `+`-sums; ValueError otherwise."""
    compact = re.sub(r"\s*([+*-])\s*", r"\1", text.strip())
    if compact.startswith(STAR):
        return symbol(_symbol_name(compact))
    if not compact or "".join(_TERM.findall(compact)) != compact:
        raise ValueError(f"expected a size such as 4, n or n+p, found {text!r}")
    total: Dim = 0
    for term in _TERM.findall(compact):
        sign = -1 if term[0] == "-" else 1
        factor: Dim = sign
        for piece in term.lstrip("+-").split("*"):
            factor = (_number(piece) if piece.isdecimal() else symbol(_symbol_name(piece))) * factor
        total = total + factor
    return total


def _number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"expected a number of at most {MAX_DIGITS} digits, found one of {len(digits)}")
    return int(digits)


def _symbol_name(text: str) -> str:
    if not re.fullmatch(r"\*?[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError(f"expected the name of a size, found {text!r}")
    return text


def _together(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials. Raises TypeMismatch where it has too many factors."""
    if len(left) + len(right) > MAX_FACTORS:
        raise TypeMismatch(f"expected sizes whose product has at most {MAX_FACTORS} factors, found more")
    return tuple(sorted(left + right)) if left and right else left or right


def _without(monomial: Monomial, name: str | None) -> Monomial:
    if name is None:
        return monomial
    at = monomial.index(name)
    return monomial[:at] + monomial[at + 1 :]


def _size(terms: dict[Monomial, int]) -> Dim:
    kept = sorted((monomial, coefficient) for monomial, coefficient in terms.items() if coefficient)
    if not kept:
        return 0
    if kept[0][0] == ():  # a number comes last
        kept.append(kept.pop(0))
        if len(kept) == 1:
            return kept[0][1]
    return Size(tuple(kept))
