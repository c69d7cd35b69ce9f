"""Reads terms, sizes and equations from their text form into nested tuples, and writes laws out for given operands.

A term is ("variable", name), ("number", text), ("item", term, index) or ("call", operator, terms, settings). A setting
or size is ("size", products), ("star", name), ("tuple", parts) or ("text", text). Equal tuples mean equal terms:
operands of operators that commute are put in one order, sizes are polynomials.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

Term = tuple[Any, ...]
Value = tuple[Any, ...]
Products = tuple[tuple[tuple[str, ...], int], ...]
MAX_LENGTH = 20_000
MAX_DEPTH = 200
MAX_PRODUCTS = 4096
_TOKEN = re.compile(r'\s*("[^"\\]*"|\d+\.\d*(?:e-?\d+)?|\.\.\.|[A-Za-z_]\w*|\d+|[()\[\],;=+*/-])')


class Wrong(Exception):
    """A proof that does not prove, or text that cannot be read; the message says why."""


class Reader:
    """Recursive descent over one text."""

    def __init__(self, text: str, commutative: frozenset[str] = frozenset()) -> None:
        if len(text) > MAX_LENGTH:
            raise Wrong(f"expected at most {MAX_LENGTH} characters, found {len(text)}")
        self._text, self._at, self._commutative = text, 0, commutative

    def equation(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """Two sides, each of one term or of several in parentheses."""
        left = self._side()
        self._expect("=")
        right = self._side()
        self.end()
        return left, right

    def term(self, depth: int = 0) -> Term:
        """A variable, a number, an application, or one output of an application."""
        if depth > MAX_DEPTH:
            raise Wrong(f"expected at most {MAX_DEPTH} nested operators, found more")
        token = self._next()
        result: Term
        if token == "-" or token.isdecimal():
            number = token + (self._next() if token == "-" else "")
            result = ("number", number + (self._next() + self._next() if self._peek() == "/" else ""))
        elif self._peek() == "(":
            result = self._call(token, depth)
        else:
            result = ("variable", token)
        while self._peek() == "[":
            self._next()
            result = ("item", result, int(self._next()))
            self._expect("]")
        return result

    def value(self, depth: int = 0) -> Value:
        """A tuple, a text, a number with a point, or a size."""
        if depth > MAX_DEPTH:
            raise Wrong(f"expected at most {MAX_DEPTH} nested tuples, found more")
        if self._peek() == "(":
            self._next()
            parts = []
            while self._peek() != ")":
                parts.append(self.value(depth + 1))
                if self._peek() == ",":
                    self._next()
            self._expect(")")
            return ("tuple", tuple(parts))
        if self._peek().startswith('"') or "." in self._peek():
            return ("text", self._next())
        if self._peek() == "*":
            self._next()
            return ("star", "*" + self._next())
        return self._sum()

    def end(self) -> None:
        """Nothing may follow."""
        if self._text[self._at :].strip():
            raise Wrong(f"expected the end of a text, found {self._text[self._at : self._at + 40]!r}")

    def _side(self) -> tuple[Term, ...]:
        if self._peek() != "(":
            return (self.term(),)
        self._next()
        outputs = [self.term()]
        while self._peek() == ",":
            self._next()
            outputs.append(self.term())
        self._expect(")")
        return tuple(outputs)

    def _call(self, operator: str, depth: int) -> Term:
        self._expect("(")
        arguments, settings = [self.term(depth + 1)], []
        while self._peek() == ",":
            self._next()
            arguments.append(self.term(depth + 1))
        while self._peek() in (";", ",") and self._next():
            name = self._next()
            self._expect("=")
            settings.append((name, self.value()))
        self._expect(")")
        return call(operator, arguments, tuple(settings), self._commutative)

    def _sum(self) -> Value:
        total: list[tuple[tuple[str, ...], int]] = []
        sign = -1 if self._peek() == "-" else 1
        if sign < 0:
            self._next()
        while True:
            product: Products = (((), sign),)
            while True:
                product = _times(product, self._factor())
                if self._peek() != "*":
                    break
                self._next()
            total += product
            if self._peek() not in ("+", "-"):
                return _size(total)
            sign = -1 if self._next() == "-" else 1

    def _factor(self) -> Products:
        token = self._next()
        if token.isdecimal():
            return (((), int(token)),)
        if not re.fullmatch(r"[A-Za-z_]\w*", token):
            raise Wrong(f"expected a size, found {token!r}")
        start = self._at
        if token == "floor":  # a quotient is one symbol, named by its text
            depth = 0
            while not (depth == 0 and self._at > start):
                depth += {"(": 1, ")": -1}.get(self._next(), 0)
        return (((token + re.sub(r"\s", "", self._text[start : self._at]),), 1),)

    def _peek(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        return found[1] if found else ""

    def _next(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise Wrong(f"expected more, found {self._text[self._at : self._at + 40]!r}")
        self._at = found.end()
        return found[1]

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise Wrong(f"expected {token!r} at character {self._at} of {self._text[:80]!r}")


def read_value(text: str) -> Value:
    """One setting or size."""
    reader = Reader(text)
    value = reader.value()
    reader.end()
    return value


def read_shape(text: str) -> tuple[Value, ...]:
    """The sizes of a shape, parted by commas."""
    parts = read_value(f"({text})")
    return tuple(parts[1])


def read_term(text: str, commutative: frozenset[str]) -> Term:
    """One term."""
    reader = Reader(text, commutative)
    term = reader.term()
    reader.end()
    return term


def call(operator: str, arguments: Iterable[Term], settings: Any, commutative: frozenset[str]) -> Term:
    """An application; operands that may change places are put in one order."""
    ordered = tuple(sorted(arguments, key=repr) if operator in commutative else arguments)
    return ("call", operator, ordered, settings)


def written_out(value: Value, sizes: Mapping[str, Any]) -> Value:
    """A setting with its symbols replaced; stars become the runs of sizes that they stand for."""
    if value[0] == "tuple":
        return ("tuple", shape_written_out(value[1], sizes))
    if value[0] != "size":
        return value
    total: list[tuple[tuple[str, ...], int]] = []
    for symbols, coefficient in value[1]:
        product: Products = (((), coefficient),)
        for name in symbols:
            kind, factor = sizes[name]
            if kind != "size":
                raise Wrong(f"expected a size for {name}, found a {kind}")
            product = _times(product, factor)
        total += product
    return _size(total)


def shape_written_out(shape: Iterable[Value], sizes: Mapping[str, Any]) -> tuple[Value, ...]:
    """The parts of a shape or tuple with their symbols replaced."""
    parts: list[Value] = []
    for part in shape:
        parts += sizes[part[1]][1] if part[0] == "star" else [written_out(part, sizes)]
    return tuple(parts)


def _times(left: Any, right: Any) -> Products:
    if len(left) * len(right) > MAX_PRODUCTS:
        raise Wrong(f"expected sizes of at most {MAX_PRODUCTS} products, found more")
    return tuple((tuple(sorted(a + b)), m * n) for a, m in left for b, n in right)


def _size(products: Iterable[tuple[tuple[str, ...], int]]) -> Value:
    total: dict[tuple[str, ...], int] = {}
    for symbols, coefficient in products:
        total[symbols] = total.get(symbols, 0) + coefficient
    return ("size", tuple(sorted(entry for entry in total.items() if entry[1])))
