"""Verifies substitutions that others published, and writes what became of them as a table.

Usage: python scripts/published_rules.py LIST [--output FILE]

LIST has one output equation a line, `RULE.OUTPUT  source  =>  target`, in the notation of TASO's published file:
`matmul[acti](x, w)`, `conv2d[k3x3,s1x1,same,acti](x, w)`, `ew_add`, `ew_mul`, `relu`, `concat[axA,ndR](x, y)` and
`split[axA].k(t)`, which parts t where the last concatenation along the axis joined it. Such a list gives no types: here
each rule is stated for the most general ones that make every operator in it well-typed, and rules with convolutions
for one group, for two, and for one on the left and two on the right, as far as each can be typed, since nothing in the
list says how many groups are meant.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.crew import Crew
from taso_opt.verify.pipeline import examine_all
from taso_opt.verify.verdict import Proved, Refuted, Unknown, Verdict
from taso_opt.verify.worker import Examine

KERNEL = 3
CONV = "dilations=(1, 1), group={group}, pads=(1, 1, 1, 1), strides=(1, 1)"
Groups = tuple[int, int]
GROUPS: tuple[Groups, ...] = ((1, 1), (2, 2), (1, 2))
"""Numbers of groups of the convolutions of the source and of the target."""

Shape = tuple["Dim", ...]
Node = tuple[str, tuple[str, ...], tuple[Any, ...]]


@dataclass(eq=False)
class Dim:
    """A size that is not known yet: a name, a number, or the sum of others that a concatenation made."""

    parts: list[Dim] = field(default_factory=list)
    same: Dim | None = None
    factor: int = 1
    number: int | None = None

    def root(self) -> Dim:
        """The size that this one was found to equal."""
        dim = self
        while dim.same is not None:
            dim = dim.same
        return dim


@dataclass(frozen=True)
class Stated:
    """A published rule in our text form, for a number of groups, or why it cannot be stated."""

    number: str
    groups: Groups
    text: str


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="Write the table here instead of to stdout.")
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes [one for each core].")
def main(file: Path, output: Path | None, jobs: int) -> None:
    """Translate and verify every rule of a list."""
    with Crew(jobs) as crew:
        crew.start()
        builder = load_specs().builder()
        statements = list(translated(file.read_text().splitlines()))
        verdicts = examine_all(crew, [Examine(parse_rule(stated.text, builder)) for stated in statements])
    rows = list(zip(statements, verdicts, strict=True))
    if output is None:
        click.echo(table(rows))
    else:
        output.write_text(table(rows) + "\n")
    sys.exit(any(isinstance(verdict, Unknown) for _, verdict in rows))


def translated(lines: Sequence[str]) -> Iterator[Stated]:
    """Every rule of the list in our form, once for each number of groups at which it can be typed."""
    entries = [line.split(None, 1) for line in lines if line.strip()]
    for number, group in groupby(entries, key=lambda entry: entry[0].partition(".")[0]):
        sides = [[parsed(side) for side in equation.split("=>")] for _, equation in group]
        counts = GROUPS if "conv2d" in repr(sides) else GROUPS[:1]
        for groups in counts:
            with suppress(Untypable):
                yield Stated(number, groups, Statement(groups).text(sides))


def parsed(text: str) -> Node:
    """One side as nested (operator, settings, operands)."""
    node, rest = _term(text.strip())
    if rest.strip():
        raise click.UsageError(f"expected the end of a term, found {rest!r}")
    return node


def _term(text: str) -> tuple[Node, str]:
    found = re.match(r"(\w+)(?:\[([^\]]*)\])?", text)
    if found is None:
        raise click.UsageError(f"expected an operator or a variable, found {text[:40]!r}")
    settings = tuple(part for part in (found[2] or "").split(",") if part)
    rest = text[found.end() :]
    operands: list[Node] = []
    if rest.startswith("("):
        while not rest.startswith(")"):
            node, rest = _term(rest[1:].lstrip() if rest[0] in "(," else rest)
            operands.append(node)
            rest = rest.lstrip()
        rest = rest[1:]
    if rest.startswith("."):
        settings, rest = (*settings, rest[1]), rest[2:]
    return (found[1], settings, tuple(operands)), rest


class Untypable(Exception):
    """No sizes make every operator of a rule well-typed at this number of groups."""


class Statement:
    """One rule under construction: the shapes of its variables, unified operator by operator."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._variables: dict[str, Shape] = {}
        self._shapes: dict[tuple[Node, int], Shape] = {}
        self._names: dict[Dim, str] = {}

    def text(self, equations: Sequence[Sequence[Node]]) -> str:
        """The rule with the most general types."""
        rank = 4 if re.search(r"conv2d|nd4", repr(equations)) else 2
        for source, target in equations:
            self._equal(self._shape(source, rank, self._groups[0]), self._shape(target, rank, self._groups[1]))
        left, right = ([self._spelled(pair[side], self._groups[side]) for pair in equations] for side in (0, 1))
        types = ", ".join(f"{name}[{', '.join(map(self._size, shape))}]" for name, shape in self._variables.items())
        return f"{_side(left)} = {_side(right)} where {types}"

    def _shape(self, node: Node, rank: int, groups: int) -> Shape:
        if (node, groups) not in self._shapes:
            self._shapes[node, groups] = self._inferred(node, rank, groups)
        return self._shapes[node, groups]

    def _inferred(self, node: Node, rank: int, groups: int) -> Shape:
        operator, settings, operands = node
        if not operands:
            return self._variables.setdefault(operator, tuple(Dim() for _ in range(rank)))
        shapes = [self._shape(operand, rank, groups) for operand in operands]
        match operator:
            case "relu" | "split":
                return shapes[0] if operator == "relu" else self._part(node, shapes[0])
            case "ew_add" | "ew_mul":
                self._equal(*shapes)
                return shapes[0]
            case "matmul":
                self._same(shapes[0][1], shapes[1][0])
                return shapes[0][0], shapes[1][1]
            case "conv2d":
                self._grouped(shapes[0][1], shapes[1], groups)
                for kernel in shapes[1][2:]:
                    self._same(kernel, Dim(number=KERNEL))
                return shapes[0][0], shapes[1][0], shapes[0][2], shapes[0][3]
            case "concat":
                return self._joined(int(settings[0].removeprefix("ax")), *shapes)
        raise click.UsageError(f"expected an operator of TASO's list, found {operator!r}")

    def _joined(self, axis: int, x: Shape, y: Shape) -> Shape:
        for at, (a, b) in enumerate(zip(x, y, strict=True)):
            if at != axis:
                self._same(a, b)
        return tuple(Dim(parts=[x[at], y[at]]) if at == axis else dim for at, dim in enumerate(x))

    def _part(self, node: Node, shape: Shape) -> Shape:
        axis, index = int(node[1][0].removeprefix("ax")), int(node[1][1])
        return tuple(dim.root().parts[index] if at == axis else dim for at, dim in enumerate(shape))

    def _grouped(self, channels: Dim, weight: Shape, groups: int) -> None:
        if groups == 1:
            self._same(channels, weight[1])
        elif self._groups[0] == 1:
            self._halves(channels, weight[1])
            self._halves(weight[0], Dim())
        else:
            self._multiple(channels, weight[1], groups)
            self._multiple(weight[0], Dim(), groups)

    def _halves(self, whole: Dim, share: Dim) -> None:
        """A joined size whose parts are the shares of two groups."""
        if len(whole.root().parts) != 2:
            raise Untypable
        for part in whole.root().parts:
            self._same(part, share)

    def _multiple(self, whole: Dim, share: Dim, groups: int) -> None:
        """A size that is a share for each group; each part of a joined size is then."""
        whole, share = whole.root(), share.root()
        if whole in _inside(share):
            raise Untypable
        if len(whole.parts) == 2:
            share.parts = share.parts or [Dim(), Dim()]
            for part, half in zip(whole.parts, share.parts, strict=True):
                self._multiple(part, half, groups)
        elif whole.factor != 1:
            self._same(whole.parts[0], share)
        else:
            whole.parts, whole.factor = [share], groups

    def _equal(self, x: Shape, y: Shape) -> None:
        for a, b in zip(x, y, strict=True):
            self._same(a, b)

    def _same(self, a: Dim, b: Dim) -> None:
        a, b = a.root(), b.root()
        if a is b:
            return
        if a.parts and b.parts and len(a.parts) == len(b.parts) and a.factor == b.factor:
            for one, other in zip(a.parts, b.parts, strict=True):
                self._same(one, other)
        elif a.number is not None and b.number is not None:
            if a.number != b.number:
                raise Untypable
        elif a.parts or a.number is not None:
            a, b = b, a
        if a in _inside(b):
            raise Untypable
        a.same = b

    def _size(self, dim: Dim) -> str:
        dim = dim.root()
        if dim.number is not None:
            return str(dim.number)
        if dim.factor != 1:
            return "+".join(f"{dim.factor}*{name}" for name in self._size(dim.parts[0]).split("+"))
        if dim.parts:
            return "+".join(map(self._size, dim.parts))
        return self._name(dim)

    def _name(self, dim: Dim) -> str:
        return self._names.setdefault(dim, f"d{len(self._names)}")

    def _spelled(self, node: Node, groups: int) -> str:
        operator, settings, operands = node
        inner = [self._spelled(operand, groups) for operand in operands]
        match operator:
            case "relu" | "ew_add" | "ew_mul":
                name = {"relu": "Relu", "ew_add": "Add", "ew_mul": "Mul"}[operator]
                return f"{name}({', '.join(inner)})"
            case "matmul" | "conv2d":
                attributes = "; " + CONV.format(group=groups) if operator == "conv2d" else ""
                plain = f"{'Conv' if operator == 'conv2d' else 'MatMul'}({', '.join(inner)}{attributes})"
                return f"Relu({plain})" if "relu" in settings else plain
            case "concat":
                axis = int(settings[0].removeprefix("ax")) - int(settings[1].removeprefix("nd"))
                return f"Concat({', '.join(inner)}; axis={axis})"
            case "split":
                return self._split(node, inner[0], groups)
        return operator

    def _split(self, node: Node, inner: str, groups: int) -> str:
        axis, index = int(node[1][0].removeprefix("ax")), int(node[1][1])
        shape = self._shapes[node[2][0], groups]
        sizes = ", ".join(self._size(part) for part in shape[axis].root().parts)
        return f"Split({inner}; axis={axis - len(shape)}, sizes=({sizes}))[{index}]"


def _inside(dim: Dim) -> Iterator[Dim]:
    """A size and everything it is made of."""
    stack = [dim.root()]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(part.root() for part in top.parts)


def _side(outputs: Sequence[str]) -> str:
    return outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"


def _groups(stated: Stated) -> str:
    source, target = stated.groups
    return str(source) if source == target else f"{source} to {target}"


def table(rows: Sequence[tuple[Stated, Verdict]]) -> str:
    """What became of each rule, in Markdown, false ones with their counterexample."""
    counts = {
        kind.__name__: sum(isinstance(verdict, kind) for _, verdict in rows) for kind in (Proved, Refuted, Unknown)
    }
    numbers = len({stated.number for stated, _ in rows})
    summary = ", ".join(f"{count} {name.lower()}" for name, count in counts.items())
    lines = [f"{numbers} rules in {len(rows)} statements: {summary}.", "", "| rule | groups | verdict | why |"]
    lines.append("|---|---|---|---|")
    for stated, verdict in rows:
        match verdict:
            case Proved(fp_class=found):
                lines.append(f"| {stated.number} | {_groups(stated)} | proved, {found} | |")
            case Refuted(counterexample):
                lines.append(f"| {stated.number} | {_groups(stated)} | **false** | {counterexample} |")
            case Unknown(reason):
                lines.append(f"| {stated.number} | {_groups(stated)} | unknown | {reason}: `{stated.text}` |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
