"""States rules of a list in our text form, for the most general types that make every operator in them well-typed.

A list gives no types. Tensors have the rank that convolutions, pooling (4), `concat[...,ndR]` or `transpose` say, else
2 where there is a matrix product or a split, else any; the `s` of `mul(x, s)` is one number. Each rule is stated

- with convolutions: for one group, for two, for one on the left and two on the right, and for two and one, since
  nothing says how many are meant;
- with strides and `same` padding, where pads depend on the size: for sizes one more than a multiple of the stride,
  where kernel - 1 are padded, and for multiples, where kernel - stride are. So an image of n windows has the size
  s*n - s + 1 or s*n. Half of the pads are before the image, and the odd one behind it, as in ONNX's SAME_UPPER;
- with `same` average pooling: with padding counted as elements of the average, and without,

as far as each can be typed; what the table does not say holds for all sizes. With strides and `valid` padding it may
have to say that no pixels are beyond the last window: then an image of n windows has the size s*n + kernel - s. Both
axes of an image are stated alike. A rule of which nothing can be typed is listed as not stated, with the reason, and so
are sizes at which it cannot be typed while it can at others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from taso_opt.core.rule import Rule
from taso_opt.errors import RuleError
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import parse_rule

from .notation import BINARY, UNARY, WINDOWED, Equation, Node, Settings, read_rules
from .sizes import Dim, Untypable, equal, halves, multiple, scaled, spelled, unify, windows

Groups = tuple[int, int]
GROUPS: tuple[Groups, ...] = ((1, 1), (2, 2), (1, 2), (2, 1))
"""Numbers of groups of the convolutions of the source and of the target."""

Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Variant:
    """What a list leaves open: groups, sizes, and whether averages count padding.

    `rest` is what strides of `same` windows leave of sizes, `whole` whether the last `valid` window ends an image.
    """

    groups: Groups = (1, 1)
    whole: bool = False
    rest: int | None = None
    counted: int | None = None

    def __str__(self) -> str:
        source, target = self.groups
        said = [str(source) if source == target else f"{source} to {target}"]
        if self.rest is not None:
            said.append(
                "sizes one more than a multiple of the strides" if self.rest else "sizes a multiple of the strides"
            )
        if self.whole:
            said.append("no pixels beyond the last window")
        if self.counted is not None:
            said.append("padding counts" if self.counted else "padding does not count")
        return "; ".join(said)


@dataclass(frozen=True)
class Stated:
    """A published rule in our text form, for one variant, or the reason why it cannot be stated."""

    number: str
    variant: Variant
    text: str
    reason: str = ""

    @property
    def groups(self) -> Groups:
        """Numbers of groups of the convolutions of the source and of the target."""
        return self.variant.groups


def translated(lines: Sequence[str]) -> Iterator[Stated]:
    """Every rule of the list in our form, once for each variant that can be typed; click.UsageError as in reading."""
    for number, equations in read_rules(lines).items():
        stated: dict[Variant, Stated] = {}
        missing: dict[Variant, str] = {}
        for variant in _variants(_nodes(equations)):
            if variant.whole and replace(variant, whole=False) in stated:
                continue
            try:
                stated[variant] = Stated(number, variant, Statement(variant, equations).text())
            except Untypable as error:
                missing[replace(variant, whole=False)] = str(error)
        yield from stated.values()
        if not stated:
            yield Stated(number, Variant(), "", next(iter(missing.values())))
        yield from (Stated(number, variant, "", missing[variant]) for variant in missing if _left_out(variant, stated))


def _left_out(variant: Variant, stated: Collection[Variant]) -> bool:
    """Whether a rule is stated for other sizes than these, and not for these."""
    rests = {other.rest for other in stated if (other.groups, other.counted) == (variant.groups, variant.counted)}
    return bool(rests) and variant.rest not in rests


def read_statements(lines: Sequence[str], builder: Builder) -> Iterator[tuple[Stated, Rule | None]]:
    """What `translated` gives with the rules that it states; None for what is not stated."""
    for stated in translated(lines):
        try:
            yield stated, None if stated.reason else parse_rule(stated.text, builder)
        except RuleError as error:
            yield Stated(stated.number, stated.variant, "", " ".join(str(error).split())), None


def _variants(nodes: Sequence[Node]) -> Iterator[Variant]:
    padded = [node for node in nodes if node.name in WINDOWED and node.settings.same]
    groups = GROUPS if any(node.name == "conv2d" for node in nodes) else GROUPS[:1]
    strided = any(max(node.settings.strides) > 1 for node in padded)
    cut = any(max(node.settings.strides, default=1) > 1 and not node.settings.same for node in nodes)
    averaged = any(node.name == "pool2d_avg" and max(node.settings.kernel) > 1 for node in padded)
    sizes = product((1, 0) if strided else (None,), (0, 1) if averaged else (None,), (False, True) if cut else (False,))
    for pair, (rest, counted, whole) in product(groups, sizes):
        yield Variant(pair, whole, rest, counted)


def _nodes(equations: Sequence[Equation]) -> list[Node]:
    return [node for equation in equations for side in equation for node in side.nodes()]


def _rank(nodes: Sequence[Node]) -> int | None:
    """The rank of all tensors that are no single numbers, None for any."""
    ranks = {4 if node.name in WINDOWED else node.settings.rank for node in nodes} - {0}
    if len(ranks) > 1:
        raise Untypable(f"expected one rank of all tensors of a rule, found {' and '.join(map(str, sorted(ranks)))}")
    bound = any(node.name in ("matmul", "split") for node in nodes)
    return max(ranks, default=2 if bound else None)


class Statement:
    """One rule under construction: the shapes of its variables, unified operator by operator."""

    def __init__(self, variant: Variant, equations: Sequence[Equation]) -> None:
        self._variant, self._equations = variant, equations
        nodes = _nodes(equations)
        self._rank = _rank(nodes)
        self._numbers = {below.name for node in nodes if node.name == "mul" for below in node.operands[1].nodes()}
        self._variables: dict[str, Shape] = {}
        self._shapes: dict[tuple[Node, int], Shape] = {}
        self._names: dict[Dim, str] = {}

    def text(self) -> str:
        """The rule with the most general types."""
        groups = self._variant.groups
        for source, target in self._equations:
            equal(self._shape(source, groups[0]), self._shape(target, groups[1]))
        left, right = ([self._spelled(pair[side], groups[side]) for pair in self._equations] for side in (0, 1))
        types = ", ".join(f"{name}[{', '.join(map(self._size, shape))}]" for name, shape in self._variables.items())
        return f"{_side(left)} = {_side(right)} where {types}"

    def _shape(self, node: Node, groups: int) -> Shape:
        if (node, groups) not in self._shapes:
            self._shapes[node, groups] = self._inferred(node, groups)
        return self._shapes[node, groups]

    def _inferred(self, node: Node, groups: int) -> Shape:
        if not node.operands:
            return self._variables.setdefault(node.name, self._unknown(node.name))
        shapes = [self._shape(operand, groups) for operand in node.operands]
        if node.name in ELEMENTWISE:
            return _elementwise(node.name, shapes)
        if () in shapes:
            raise Untypable(f"expected operands of {node.name} with axes, found a single number")
        match node.name:
            case "matmul":
                return _product(*shapes)
            case "conv2d":
                self._grouped(shapes[0][1], shapes[1], groups)
                for kernel, width in zip(shapes[1][2:], node.settings.kernel, strict=True):
                    unify(kernel, Dim(number=width))
                return (shapes[0][0], shapes[1][0], *self._windows(shapes[0], node.settings))
            case "pool2d_max" | "pool2d_avg":
                return (*shapes[0][:2], *self._windows(shapes[0], node.settings))
            case "concat":
                return _joined(node.settings.axis, shapes)
            case "split":
                return _part(node.settings, shapes[0])
            case "transpose":
                return tuple(shapes[0][axis] for axis in node.settings.perm)
        raise AssertionError(f"expected an operator of the notation, found {node.name}")

    def _unknown(self, name: str) -> Shape:
        return () if name in self._numbers else tuple(Dim() for _ in range(1 if self._rank is None else self._rank))

    def _windows(self, image: Shape, settings: Settings) -> Iterator[Dim]:
        for size, width, stride in zip(image[2:], settings.kernel, settings.strides, strict=True):
            fitting = not settings.same and stride > 1 and not self._variant.whole
            if settings.same and self._variant.rest == 0 and width < stride:
                unify(size, scaled(Dim(), stride))
                fitting = True
            more = width - stride - self._padding(settings, width, stride)
            yield Dim(fits=(size, width, stride)) if fitting else windows(size, stride, more)

    def _padding(self, settings: Settings, width: int, stride: int) -> int:
        """How much is padded along an axis, before and behind the image together."""
        if not settings.same:
            return 0
        return width - 1 if self._variant.rest or stride == 1 else max(width - stride, 0)

    def _grouped(self, channels: Dim, weight: Shape, groups: int) -> None:
        if groups == 1:
            unify(channels, weight[1])
        elif 1 in self._variant.groups:
            halves(channels, weight[1])
            halves(weight[0], Dim())
        else:
            multiple(channels, weight[1], groups)
            multiple(weight[0], Dim(), groups)

    def _size(self, dim: Dim) -> str:
        return spelled(dim, self._names, "*d" if self._rank is None else "d")

    def _spelled(self, node: Node, groups: int) -> str:
        name, settings = node.name, node.settings
        inner = ", ".join(self._spelled(operand, groups) for operand in node.operands)
        if not node.operands:
            return name
        match name:
            case "matmul":
                return _activated(f"MatMul({inner})", settings.activation)
            case "conv2d" | "pool2d_max" | "pool2d_avg":
                return _activated(f"{self._windowed(node, inner, groups)})", settings.activation)
            case "concat":
                return f"Concat({inner}; axis={settings.axis - settings.rank})"
            case "split":
                shape = self._shapes[node.operands[0], groups]
                sizes = ", ".join(map(self._size, shape[settings.axis].root().joined))
                return f"Split({inner}; axis={settings.axis - len(shape)}, sizes=({sizes}))[{settings.part}]"
            case "transpose":
                return _transposed(inner, settings.perm)
        return f"{ELEMENTWISE[name]}({inner})"

    def _windowed(self, node: Node, inner: str, groups: int) -> str:
        settings = node.settings
        totals = [self._padding(settings, *pair) for pair in zip(settings.kernel, settings.strides, strict=True)]
        pads = (*(total // 2 for total in totals), *(total - total // 2 for total in totals))
        moved = f"pads={pads}, strides={settings.strides}"
        match node.name:
            case "conv2d":
                return f"Conv({inner}; dilations=(1, 1), group={groups}, {moved}"
            case "pool2d_max":
                return f"MaxPool({inner}; dilations=(1, 1), kernel={settings.kernel}, {moved}"
        return f"AveragePool({inner}; count_include_pad={self._variant.counted or 0}, kernel={settings.kernel}, {moved}"


ELEMENTWISE = {**UNARY, **BINARY, "mul": "Mul"}


def _elementwise(name: str, shapes: Sequence[Shape]) -> Shape:
    if name != "mul":
        for shape in shapes[1:]:
            equal(shapes[0], shape)
    elif shapes[1]:
        raise Untypable("expected a single number as the second operand of mul, found a tensor")
    return shapes[0]


def _product(x: Shape, w: Shape) -> Shape:
    equal(x[:-2], w[:-2])
    unify(x[-1], w[-2])
    return (*x[:-1], w[-1])


def _joined(axis: int, shapes: Sequence[Shape]) -> Shape:
    first = shapes[0]
    for shape in shapes[1:]:
        equal((*first[:axis], *first[axis + 1 :]), (*shape[:axis], *shape[axis + 1 :]))
    return (*first[:axis], Dim(parts=[shape[axis] for shape in shapes]), *first[axis + 1 :])


def _part(settings: Settings, shape: Shape) -> Shape:
    axis = settings.axis
    parts = shape[axis].root().joined if axis < len(shape) else []
    if settings.part >= len(parts):
        raise Untypable(f"expected a concatenation along axis {axis} with a part {settings.part} to split, found none")
    return (*shape[:axis], parts[settings.part], *shape[axis + 1 :])


def _transposed(inner: str, perm: tuple[int, ...]) -> str:
    """A transposition of the axes behind the last one that stays, counted from the end."""
    first = next((at for at, axis in enumerate(perm) if at != axis), len(perm))
    moved = tuple(axis - len(perm) for axis in perm[first:])
    return f"Transpose({inner}; perm={moved})" if moved else inner


def _activated(text: str, activation: str) -> str:
    return text if activation == "none" else f"{UNARY[activation]}({text})"


def _side(outputs: Sequence[str]) -> str:
    return outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
