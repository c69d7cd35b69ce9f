"""Candidates about volumes as images: windows over one or two of three axes slide over images as well.

Runtimes compute on images in layouts and by kernels that they do not have for volumes, as videos and scans are. A
window that is one frame deep slides over each frame, an image of its own; one of a single pixel slides over a column of
frames while all pixels lie side by side (the two halves of a (2+1)D convolution; Tran et al., CVPR 2018); and one that
is three frames deep is one frame deep where each frame has the channels of its neighbours, too, or the sum of three.
What type-checks and agrees in floats is a candidate. Frames are images of their own where there is one volume: no size
needs to be named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from taso_opt.core.dims import product, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import REAL, parse_scheme
from taso_opt.generate.schemes.cuts import Cut, G, mapped, parameters
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import confirmed, passed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

VOLUME, CHANNELS, BATCH, RANK = "1 c t h w", -4, -5, 5
FRAMES_FIRST = (-3, -4, -2, -1)
"""How frames come before channels, and behind them again."""

DEPTH = 3
"""Of a window that goes over neighbours, too."""

HALVING: Mapping[str, Attribute] = {"dilations": (1, 1), "pads": (1, 0, 1, 0), "strides": (2, 1)}
"""Windows of one column and three frames that leave every other frame of an even number."""

POOL: Mapping[str, Attribute] = {"strides": ANY_WINDOWS["strides"], "pads": ANY_WINDOWS["pads"], **ANY_KERNEL}
POOLS: tuple[tuple[str, Mapping[str, Attribute]], ...] = (
    ("MaxPool", {**ANY_WINDOWS, **ANY_KERNEL}),
    *(("AveragePool", {**POOL, "count_include_pad": count}) for count in (0, 1)),
)
"""What pools images."""

OverParts = Callable[[Builder, Sequence[Term], "tuple[Var, ...]", Mapping[str, Attribute]], Term]
"""What computes a window over neighbours, given these as frames for each of its places, and its weights."""

ELEMENTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("Add", "Div", "Max", "Min", "Mul", "Sub"), ((VOLUME, VOLUME), (VOLUME, ""))),
    "BatchNormalization": ((VOLUME, "c", "c", "c", "c", ""),),
}
"""Operands of what is computed element by element."""


def discover_volumes(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which volumes become images, in the order of their text form."""
    builder = library.builder()
    rules = chain(_undone(builder), _windows(builder), _neighbours(builder), _maps(library, builder))
    return confirmed(rules, builder, seed, operators)


def _undone(builder: Builder) -> Iterator[Rule]:
    """Frames that are images, as frames again."""
    y = Var("y", parse_scheme("t c h w"))
    yield Rule((_frames(builder, _volume(builder, y)),), (y,))


def _windows(builder: Builder) -> Iterator[Rule]:
    """Windows over frames, and over columns of frames, as windows over images."""
    one, several, even = (Var("x", parse_scheme(scheme)) for scheme in ("1 g*c t h w", "n g*c t h w", "n g*c 2*t h w"))
    values: dict[str, Attribute] = {**ANY_WINDOWS, "group": G}
    for bias in ((), (Var("z", parse_scheme("g*m")),)):
        yield _over_frames(builder, "Conv", values, one, Var("y", parse_scheme("g*m c 1 k_h k_w")), *bias)
        yield _over_columns(builder, "Conv", _by_one(values), several, Var("y", parse_scheme("g*m c k_h 1 1")), *bias)
        kernel = Var("y", parse_scheme(f"g*m c {DEPTH} 1 1"))
        yield _over_columns(builder, "Conv", {**HALVING, "group": G}, even, kernel, *bias)
    for name, of_pool in POOLS:
        yield _over_frames(builder, name, of_pool, one)
        yield _over_columns(builder, name, _by_one(of_pool), several)


def _over_frames(builder: Builder, name: str, values: Mapping[str, Attribute], x: Var, *weights: Var) -> Rule:
    deep = {key: _with_axis(key, value, 0) for key, value in values.items()}
    plain = builder.apply(name, (x, *weights), deep)
    images = builder.apply(name, (_frames(builder, x), *_flat(builder, weights, 2)), values)
    return Rule((plain,), (_volume(builder, images),))


def _over_columns(builder: Builder, name: str, of_columns: Mapping[str, Attribute], x: Var, *weights: Var) -> Rule:
    deep = {key: _with_axis(key, value, 2) for key, value in of_columns.items()}
    batch, channels, frames, *pixels = x.type.shape
    plain = builder.apply(name, (x, *weights), deep)
    columns = reshaped(builder, x, (batch, channels, frames, product(tuple(pixels))))
    found = builder.apply(name, (columns, *_flat(builder, weights, 4)), of_columns)
    return Rule((plain,), (reshaped(builder, found, builder.type(plain).shape),))


def _neighbours(builder: Builder) -> Iterator[Rule]:
    """Windows that are three frames deep, of channels that belong together and of groups of channels."""
    forms = (
        (VOLUME, f"m c {DEPTH} k_h k_w", "m", 1, _over_joined),
        ("1 g*c t h w", f"g*m c {DEPTH} k_h k_w", "g*m", G, _summed),
    )
    for *schemes, bias, group, over_parts in forms:
        x, y, z = (Var(name, parse_scheme(scheme)) for name, scheme in zip("xyz", (*schemes, bias), strict=True))
        for weights in ((y,), (y, z)):
            yield _over_neighbours(builder, x, weights, {**ANY_WINDOWS, "group": group}, over_parts)


def _over_neighbours(
    builder: Builder, x: Var, weights: tuple[Var, ...], values: Mapping[str, Attribute], over_parts: OverParts
) -> Rule:
    before, behind, (top, left, bottom, right) = symbol("p_f"), symbol("p_g"), ANY_WINDOWS["pads"]
    deep = {key: _with_axis(key, value, 0) for key, value in values.items()}
    deep["pads"] = (before, top, left, behind, bottom, right)
    padded = builder.apply("Pad", (x,), {"pads": (0, 0, before, 0, 0, 0, 0, behind, 0, 0)})
    found = over_parts(builder, _in_turn(builder, _frames(builder, padded), CHANNELS), weights, values)
    return Rule((builder.apply("Conv", (x, *weights), deep),), (_volume(builder, found),))


def _in_turn(builder: Builder, term: Term, axis: int) -> list[Term]:
    """What a window meets along an axis at its first place, at its second and so on, for each of its moves."""
    kept = builder.type(term).shape[axis] - (DEPTH - 1)
    sizes = [(at, kept, DEPTH - 1 - at) for at in range(DEPTH)]
    return [builder.apply("Slice", (term,), {"axis": axis, "sizes": one}) for one in sizes]


def _over_joined(
    builder: Builder, parts: Sequence[Term], weights: tuple[Var, ...], values: Mapping[str, Attribute]
) -> Term:
    """A window over frames that have the channels of their neighbours, too."""
    kernel, *bias = weights
    outputs, channels, _, *window = kernel.type.shape
    joined = builder.apply("Concat", parts, {"axis": CHANNELS + 1})
    turned = transposed(builder, kernel, FRAMES_FIRST)
    flat = reshaped(builder, turned, (outputs, DEPTH * channels, *window))
    return builder.apply("Conv", (joined, flat, *bias), values)


def _summed(builder: Builder, parts: Sequence[Term], weights: tuple[Var, ...], values: Mapping[str, Attribute]) -> Term:
    """The sum of a window over each of the neighbours."""
    kernel, *bias = weights
    outputs, channels, _, *window = kernel.type.shape
    cut = _in_turn(builder, kernel, CHANNELS + 1)
    flat = [reshaped(builder, one, (outputs, channels, *window)) for one in cut]
    first, *others = zip(parts, flat, strict=True)
    found = builder.apply("Conv", (*first, *bias), values)
    for other in others:
        found = builder.apply("Add", (found, builder.apply("Conv", other, values)), {})
    return found


def _maps(library: SpecLibrary, builder: Builder) -> Iterator[Rule]:
    """Frames of what is computed element by element, or joined along channels, as the same of frames."""
    for operator in library.operators.values():
        for form in _forms(operator):
            rule = passed(builder, operator.name, form, _frames_of, _attribute_of_frames)
            if rule is not None and builder.type(rule.source[0]).dtype == REAL:
                yield rule


def _forms(operator: Operator) -> Iterator[Cut]:
    if operator.is_map:
        yield from (Cut(mapped(operator, VOLUME), values) for values in parameters(operator))
    yield from map(Cut, ELEMENTS.get(operator.name, ()))
    if operator.name == "Concat":
        yield Cut((VOLUME, VOLUME.replace("c", "d")), {"axis": CHANNELS})


def _frames_of(builder: Builder, term: Term) -> Term | None:
    return _frames(builder, term) if builder.type(term).rank == RANK else None


def _attribute_of_frames(name: str, value: Attribute) -> Attribute:
    return CHANNELS + 1 if name == "axis" else value


def _frames(builder: Builder, volume: Term) -> Term:
    """All frames of a volume as images."""
    return _without_batch(builder, transposed(builder, volume, FRAMES_FIRST))


def _without_batch(builder: Builder, term: Term) -> Term:
    return builder.apply("Squeeze", (term,), {"axis": BATCH})


def _volume(builder: Builder, images: Term) -> Term:
    """The volume of which these images are the frames."""
    return transposed(builder, builder.apply("Unsqueeze", (images,), {"axis": BATCH}), FRAMES_FIRST)


def _flat(builder: Builder, weights: tuple[Var, ...], axis: int) -> tuple[Term, ...]:
    """A kernel without one of its axes, and the bias as it is."""
    if not weights:
        return ()
    kernel, *bias = weights
    shape = kernel.type.shape
    return reshaped(builder, kernel, (*shape[:axis], *shape[axis + 1 :])), *bias


def _by_one(values: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Windows over images as windows of one column that move by one pixel, so that results have sizes with names."""
    return {key: _of_column(key, value) for key, value in values.items()}


def _of_column(name: str, value: Attribute) -> Attribute:
    if not isinstance(value, tuple):
        return value
    if name == "pads":
        return value[0], 0, value[2], 0
    return (1, 1) if name == "strides" else (value[0], 1)


def _with_axis(name: str, value: Attribute, at: int) -> Attribute:
    """An attribute of windows over images, for windows over volumes of size one along another axis."""
    if not isinstance(value, tuple):
        return value
    if name == "pads":
        begins, ends = value[:2], value[2:]
        return (*begins[:at], 0, *begins[at:], *ends[:at], 0, *ends[at:])
    return (*value[:at], 1, *value[at:])
