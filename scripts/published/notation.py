"""Reads lists of substitutions in the notation of TASO's published file, and refuses what it does not know.

One output equation a line, `RULE.OUTPUT  source  =>  target`; lines of one RULE hold together, blank lines and lines
that begin with `#` are skipped. A term is a variable or an operator with settings in brackets and operands:

- `relu`, `sigmoid`, `tanh`, `exp`, `log`, `sqrt`, `abs`, `neg`, `erf` of one operand;
- `ew_add`, `ew_sub`, `ew_mul`, `ew_div`, `ew_max`, `ew_min` of two of one shape, `mul(x, s)` by a single number s;
- `matmul[ACTI](x, w)`, where ACTI is what is applied to the result: none, relu, sigmoid or tanh;
- `conv2d[kKHxKW,sSHxSW,PAD,ACTI](x, w)`, where PAD is same or valid;
- `pool2d_max[kKHxKW,sSHxSW,PAD](x)` and `pool2d_avg`, which may name an ACTI as well;
- `concat[axA,ndR](x, y, ...)` along axis A of tensors of rank R;
- `split[axA](t).K` or `split[axA].K(t)`, which is part K of t;
- `transpose[perm1,0](x)`, the axes of x that become those of the result (also with `_` or `x` between them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

UNARY = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "abs": "Abs",
    "neg": "Neg",
    "erf": "Erf",
}
BINARY = {"ew_add": "Add", "ew_sub": "Sub", "ew_mul": "Mul", "ew_div": "Div", "ew_max": "Max", "ew_min": "Min"}
"""Operators without settings, and what they are called in our text form."""

ACTIVATIONS = ("none", "relu", "sigmoid", "tanh")
WINDOWED = ("conv2d", "pool2d_max", "pool2d_avg")
MAX_DEPTH = 64
MAX_WINDOW = 64
"""Kernel sizes and strides up to here are read."""

MAX_RANK = 8
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Malformed(ValueError):
    """A line that is not in the notation; the message says what was expected and found."""


@dataclass(frozen=True)
class Settings:
    """What stands in brackets behind an operator, and which part of a split is meant."""

    kernel: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    same: bool = False
    activation: str = "none"
    axis: int = 0
    rank: int = 0
    part: int = 0
    perm: tuple[int, ...] = ()


@dataclass(frozen=True)
class Node:
    """A variable or an operator with its operands."""

    name: str
    settings: Settings = Settings()
    operands: tuple[Node, ...] = ()

    def nodes(self) -> Iterator[Node]:
        """This node and everything below it."""
        yield self
        for operand in self.operands:
            yield from operand.nodes()


Equation = tuple[Node, Node]


def read_lines(path: Path) -> list[str]:
    """The lines of a list; click.UsageError where it is no text."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"expected text in UTF-8 in {path}, found byte {error.start} to be none") from error


def read_rules(lines: Sequence[str]) -> dict[str, list[Equation]]:
    """The equations of each rule by its number; click.UsageError names the first line that cannot be read."""
    rules: dict[str, dict[str, Equation]] = {}
    for at, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            number, output, equation = _line(line)
            if output in rules.setdefault(number, {}):
                raise Malformed(f"expected each output of a rule once, found {number}.{output} again")
        except Malformed as error:
            raise click.UsageError(f"line {at}: {error}") from error
        rules[number][output] = equation
    return {number: list(outputs.values()) for number, outputs in rules.items()}


def _line(line: str) -> tuple[str, str, Equation]:
    found = re.match(r"\s*(\w+)\.(\w+)\s+", line, re.ASCII)
    if found is None:
        raise Malformed(f"expected RULE.OUTPUT and an equation, found {line.strip()[:40]!r}")
    sides = line[found.end() :].split("=>")
    if len(sides) != 2:
        raise Malformed(f"expected a source and a target with one '=>' between them, found {len(sides) - 1} of it")
    return found[1], found[2], (_Reader(sides[0]).whole(), _Reader(sides[1]).whole())


class _Reader:
    """Recursive descent over one side, with a bound on the depth of nesting."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def whole(self) -> Node:
        node = self._term(0)
        if self._peek():
            raise Malformed(f"expected the end of a term, found {self._here()}")
        return node

    def _term(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise Malformed(f"expected at most {MAX_DEPTH} nested operators, found more")
        self._peek()
        name = self._match(NAME)
        if name is None:
            raise Malformed(f"expected an operator or a variable, found {self._here()}")
        settings = self._match(re.compile(r"\[[^\[\]()]*\]"))
        part = self._part()
        operands = self._operands(depth) if self._peek() == "(" else None
        if operands is not None and part is None:
            part = self._part()
        if operands is None and name not in OPERATORS:
            if settings is not None or part is not None:
                raise Malformed(f"expected operands of {name[:40]} behind its settings, found {self._here()}")
            return Node(name)
        return _checked(name, settings, part, operands or ())

    def _operands(self, depth: int) -> tuple[Node, ...]:
        found: list[Node] = []
        while True:
            self._at += 1
            found.append(self._term(depth + 1))
            after = self._peek()
            if after not in (",", ")"):
                raise Malformed(f"expected ',' or ')' behind an operand, found {self._here()}")
            if after == ")":
                self._at += 1
                return tuple(found)

    def _part(self) -> int | None:
        found = self._match(re.compile(r"\.\d{1,2}(?!\w)", re.ASCII))
        return None if found is None else int(found[1:])

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _peek(self) -> str:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _here(self) -> str:
        return repr(self._text[self._at : self._at + 40]) if self._peek() else "the end of the side"


def _checked(name: str, text: str | None, part: int | None, operands: tuple[Node, ...]) -> Node:
    """The application of an operator, which takes these settings and this many operands."""
    if name not in OPERATORS:
        raise Malformed(f"expected one of the operators {', '.join(OPERATORS)}, found {name[:40]!r}")
    arity, read = OPERATORS[name]
    settings = read([piece.strip() for piece in text[1:-1].split(",")] if text is not None else [])
    if settings is None:
        raise Malformed(f"expected {name}{FORMS.get(name, ' without settings')}, found {name}{(text or '')[:80]}")
    if len(operands) < 2 if arity is None else len(operands) != arity:
        raise Malformed(f"expected {arity or 'two or more'} operands of {name}, found {len(operands)}")
    if (part is not None) != (name == "split"):
        found = "none" if part is None else f"{name} with one"
        raise Malformed(f"expected the number of a part behind split and nothing else, found {found}")
    return Node(name, replace(settings, part=part or 0), operands)


def _no_settings(pieces: Sequence[str]) -> Settings | None:
    return None if pieces else Settings()


def _activation(pieces: Sequence[str]) -> Settings | None:
    if len(pieces) != 1 or pieces[0] not in ACTIVATIONS:
        return None
    return Settings(activation=pieces[0])


def _window(pieces: Sequence[str]) -> Settings | None:
    if len(pieces) != 4 or pieces[2] not in ("same", "valid") or pieces[3] not in ACTIVATIONS:
        return None
    kernel, strides = _pair("k", pieces[0]), _pair("s", pieces[1])
    if kernel is None or strides is None:
        return None
    return Settings(kernel=kernel, strides=strides, same=pieces[2] == "same", activation=pieces[3])


def _pooling(pieces: Sequence[str]) -> Settings | None:
    return _window(pieces if len(pieces) != 3 else [*pieces, "none"])


def _pair(letter: str, text: str) -> tuple[int, int] | None:
    found = re.fullmatch(rf"{letter}(\d{{1,3}})x(\d{{1,3}})", text, re.ASCII)
    if found is None:
        return None
    pair = int(found[1]), int(found[2])
    if not all(1 <= value <= MAX_WINDOW for value in pair):
        raise Malformed(f"expected kernel sizes and strides from 1 to {MAX_WINDOW}, found {text}")
    return pair


def _joining(pieces: Sequence[str]) -> Settings | None:
    found = re.fullmatch(r"ax(\d),nd(\d)", ",".join(pieces), re.ASCII)
    if found is None:
        return None
    axis, rank = int(found[1]), int(found[2])
    if not axis < rank <= MAX_RANK:
        raise Malformed(f"expected an axis of a tensor of rank at most {MAX_RANK}, found ax{axis} of nd{rank}")
    return Settings(axis=axis, rank=rank)


def _splitting(pieces: Sequence[str]) -> Settings | None:
    found = re.fullmatch(r"ax(\d)", ",".join(pieces), re.ASCII)
    return None if found is None else Settings(axis=int(found[1]))


def _moving(pieces: Sequence[str]) -> Settings | None:
    found = re.fullmatch(r"(?:perm=?)?(\d(?:[,_x]\d)*)", ",".join(pieces), re.ASCII)
    if found is None:
        return None
    perm = tuple(map(int, re.split("[,_x]", found[1])))
    if sorted(perm) != list(range(len(perm))) or len(perm) > MAX_RANK:
        raise Malformed(f"expected a permutation of the axes 0 to {len(perm) - 1}, found {','.join(pieces)}")
    return Settings(perm=perm, rank=len(perm))


FORMS = {
    "matmul": f"[ACTI] with ACTI one of {', '.join(ACTIVATIONS)}",
    "conv2d": f"[kKHxKW,sSHxSW,PAD,ACTI] with PAD same or valid and ACTI one of {', '.join(ACTIVATIONS)}",
    "pool2d_max": "[kKHxKW,sSHxSW,PAD] with PAD same or valid",
    "pool2d_avg": "[kKHxKW,sSHxSW,PAD] with PAD same or valid",
    "concat": "[axA,ndR]",
    "split": "[axA]",
    "transpose": "[permA,B,...]",
}
"""How settings are written, for messages."""

OPERATORS: dict[str, tuple[int | None, Callable[[Sequence[str]], Settings | None]]] = {
    **dict.fromkeys(UNARY, (1, _no_settings)),
    **dict.fromkeys((*BINARY, "mul"), (2, _no_settings)),
    "matmul": (2, _activation),
    "conv2d": (2, _window),
    "pool2d_max": (1, _pooling),
    "pool2d_avg": (1, _pooling),
    "concat": (None, _joining),
    "split": (1, _splitting),
    "transpose": (1, _moving),
}
"""How many operands each operator has, None for two or more, and what reads its settings, None for others."""
