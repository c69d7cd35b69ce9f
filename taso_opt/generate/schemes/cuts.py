"""The operands with one axis cut to which each operator is applied, to see where a slice can stand before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.term import Attribute
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.elementwise import CONCAT_AXES, PERMUTATIONS, SCALARS, SWAP
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

CUT = "n+p+q"
WHOLE = symbol("n") + symbol("p") + symbol("q")


@dataclass(frozen=True)
class Cut:
    """The schemes of the operands, whose cut axis has the size CUT, and the attributes."""

    schemes: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


BROADCAST: Mapping[int, tuple[str, ...]] = {
    -1: ("*b @", "@", "*b 1", ""),
    -2: ("*b @ t1", "@ t1", "*b @ 1", "@ 1", "t1", ""),
    -3: ("*b @ t2 t1", "*b @ 1 1", "@ 1 1", "*b @ t2 1", "t2 t1", "t1", ""),
    -4: ("*b @ t3 t2 t1", "*b @ t3 1 1", "*b @ 1 1 1", "*b @ t3 t2 1", "t3 1 1", "t2 t1", "t1", ""),
}
"""What the second operand of an element-wise operator may be when the first is full, for each axis that is cut."""

FEW: Mapping[int, tuple[str, ...]] = {-1: ("",), -2: ("",), -3: ("@ 1 1", ""), -4: ("t3 1 1", "")}
"""The same for operators that rarely have anything but numbers or channels there."""

SELDOM = frozenset({"Max", "Min", "PRelu"})

EXPANDED = {
    "*b @ 1": "*b @ n",
    "*b 1 @": "*b m @",
    "*b 1 n": "*b @ n",
    "*b 1 1": "*b m @",
    "*b @ 1 1": "*b @ h w",
}
"""What is repeated to what: the cut axis is an old one or a repeated one."""

LARGEST = ("*b @", "*b @ t1", "*b @ t2 t1", "*b @ t3 t2 t1")
REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceSum", "ReduceSumSquare")
AXES = ((-1,), (-2, -1))
IMAGES = ("@ c h w", "m @ h w")
BOTH = (*PERMUTATIONS, SWAP)
G, K = symbol("g"), symbol("k")
SCALES = symbol("s_h"), symbol("s_w")
INTERPOLATED: Mapping[str, Attribute] = {"method": symbol("t"), "scales": SCALES}
"""Any method of interpolation, and any scales."""

DILATIONS = ANY_WINDOWS["dilations"]
POINTWISE: Mapping[str, Attribute] = {**ANY_WINDOWS, "strides": (1, 1), "pads": (0, 0, 0, 0)}

FORMS: Mapping[str, tuple[str, ...]] = {
    "MatMul": (
        "*b @ k; k m", "*b @ k; *b k m", "*b m k; k @", "*b m k; *b k @", "m k; *b k @",
        "*b @ m k; k l", "*b @ m k; *b @ k l", "m k; *b @ k l", "*b @ t m k; *b @ t k l", "*b @ t m k; k l",
    ),
    "Attention": tuple(
        f"{x}; {mask}"
        for x in ("@ h m d; @ h n d; @ h n p", "b @ m d; b @ n d; b @ n p", "b h m d; b h n d; b h n @")
        for mask in ("", "; m n")
    )
    + tuple(f"b h @ d; b h n d; b h n p; {mask}" for mask in ("", "; @ n", "; b 1 @ n", "; b h @ n")),
    "BatchNormalization": tuple(
        f"{x}; {c}; {c}; {c}; {c}; "
        for c, images in (("c", ("@ c", "@ c h w", "m c @ w", "m c h @")), ("@", ("m @", "m @ h w")))
        for x in images
    ),
    "Gelu": tuple(f"{x}; {rest}" for x in LARGEST for rest in ("", "; ")),
    "GlobalAveragePool": ("@ c h w", "m @ h w"),
    "GlobalMaxPool": ("@ c h w", "m @ h w"),
    "InstanceNormalization": tuple(
        f"{x}; {rest}"
        for c, images in (("c", ("@ c h w", "@ c w")), ("@", ("m @ h w", "m @ w")))
        for x in images
        for rest in ("", f"; {c}; {c}")
    ),
    "LayerNormalization": tuple(
        f"{x}; {rest}" for x in LARGEST[1:] for rest in ("", "; t1", "; t1; t1")
    ),
    "RMSNormalization": tuple(f"{x}; {rest}" for x in LARGEST[1:] for rest in ("", "; t1")),
}  # fmt: skip
"""Operands of operators without attributes."""


def cuts(operator: Operator) -> Iterable[Cut]:
    """Every choice of operands and attributes of an operator that is tried."""
    if operator.is_map:
        return _of_map(operator)
    if operator.elementwise and operator.arity == 2:
        seldom = operator.name in SELDOM
        return _of_two(FEW if seldom else BROADCAST, operator.commutative or seldom)
    if operator.name in FORMS:
        return (Cut(_schemes(form)) for form in FORMS[operator.name])
    return WITH_ATTRIBUTES.get(operator.name, ())


def _attribute(shape: str) -> tuple[Dim, ...]:
    return tuple(WHOLE if size == "@" else symbol(size) for size in shape.split())


def _schemes(form: str) -> tuple[str, ...]:
    return tuple(part.strip().replace("@", CUT) for part in form.split(";"))


def sized(value: Attribute, size: Dim) -> Attribute:
    """An attribute that speaks of the cut size, such as a shape, for another."""
    if isinstance(value, tuple):
        return tuple(sized(part, size) for part in value)
    return size if value == WHOLE else value


def parameters(operator: Operator) -> Sequence[Mapping[str, Attribute]]:
    """The parameters of a scalar function: symbols for a power, else those that the enumeration tries."""
    if operator.name == "Pow":
        return ({"exponent": (symbol("e"), symbol("d"))},)
    return operator.choices.get(SCALARS, ({},))


def _of_map(operator: Operator) -> Iterator[Cut]:
    forms = [mapped(operator, scheme.replace("@", CUT)) for scheme in LARGEST]
    yield from (Cut(form, values) for values in parameters(operator) for form in forms)


def mapped(operator: Operator, scheme: str) -> tuple[str, ...]:
    """The operands of a map: a tensor of some scheme, and numbers."""
    return scheme, *[""] * (int(operator.arity or 1) - 1)


def _of_two(forms: Mapping[int, tuple[str, ...]], in_order: bool) -> Iterator[Cut]:
    for axis, seconds in forms.items():
        for second in seconds:
            pair = _schemes(f"{LARGEST[-axis - 1]}; {second}")
            yield Cut(pair)
            if not in_order and pair[0] != pair[1]:
                yield Cut(pair[::-1])


def _crossed(joined: int) -> Iterator[tuple[str, str]]:
    """Operands of a concatenation that are cut along another axis."""
    for cut in CONCAT_AXES:
        if cut != joined:
            depth = -min(cut, joined)
            names = {at: f"t{-at}" for at in range(-depth, 0)} | {cut: CUT}
            first, second = ({**names, joined: size} for size in ("k", "l"))
            yield " ".join(["*b", *first.values()]), " ".join(["*b", *second.values()])


def _full(rank: int, cut: int) -> tuple[str]:
    """One operand of at least so many axes, cut along one of them."""
    return (" ".join(["*b", *(CUT if at == cut else f"t{-at}" for at in range(-max(rank, -cut), 0))]),)


def _padded() -> Iterator[Cut]:
    """An axis before those that are padded is cut, or one of them that keeps its size."""
    top, left, bottom, right = ANY_WINDOWS["pads"]
    yield from (Cut(_full(2, at), {"pads": (top, left, bottom, right)}) for at in (-3, -4))
    yield Cut(_full(2, -2), {"pads": (0, left, 0, right)})
    yield Cut(_full(2, -1), {"pads": (top, 0, bottom, 0)})


def _reshaped() -> Iterator[Cut]:
    """Axes before or behind the cut one are joined or taken apart."""
    b, cut, h, d, w = symbol("b"), WHOLE, symbol("h"), symbol("d"), symbol("w")
    shapes = {
        f"b {CUT} h*d": (b, cut, h, d),
        f"b {CUT} h d": (b, cut, h * d),
        f"{CUT} h*d": (cut, h, d),
        f"{CUT} h d": (cut, h * d),
        f"1 {CUT} d": (cut, d),
        f"{CUT} d": (1, cut, d),
        f"{CUT} h d w": (cut, h * d * w),
        f"{CUT} d 1 1": (cut, d),
    }
    yield from (Cut((scheme,), {"shape": shape}) for scheme, shape in shapes.items())


def _convolved() -> Iterator[Cut]:
    for bias, own in (("", ""), ("; g*m", "; @")):
        yield Cut(_schemes(f"@ g*c h w; g*m c i j{bias}"), {**ANY_WINDOWS, "group": G})
        yield Cut(_schemes(f"m c h w; @ c i j{own}"), {**ANY_WINDOWS, "group": 1})
        yield Cut(_schemes(f"m @ h w; @ 1 i j{own}"), {**ANY_WINDOWS, "group": WHOLE})
        for pixels in ("@ w", "h @"):
            yield Cut(_schemes(f"m g*c {pixels}; g*d c 1 1{bias.replace('m', 'd')}"), {**POINTWISE, "group": G})


def _pools(**kinds: Sequence[Attribute]) -> Iterator[Mapping[str, Attribute]]:
    """The attributes of any pooling, with each value of the one that only some poolings have."""
    windows = {name: value for name, value in ANY_WINDOWS.items() if name != "dilations"}
    for name, values in kinds.items():
        yield from ({**windows, **ANY_KERNEL, name: value} for value in values)


WITH_ATTRIBUTES: Mapping[str, tuple[Cut, ...]] = {
    "AveragePool": tuple(Cut(_schemes(form), pool) for form in IMAGES for pool in _pools(count_include_pad=(0, 1))),
    "Concat": tuple(Cut(schemes, {"axis": axis}) for axis in CONCAT_AXES for schemes in _crossed(axis)),
    "Conv": tuple(_convolved()),
    "DepthToSpace": (Cut(_schemes("@ k*k*c h w"), {"block": K}),),
    "Expand": tuple(Cut(_schemes(scheme), {"shape": _attribute(shape)}) for scheme, shape in EXPANDED.items()),
    "GroupNormalization": tuple(Cut(_schemes(f"@ g*c {pixels}; g*c; g*c; "), {"groups": G}) for pixels in ("w", "h w")),
    "Interpolate": tuple(Cut(_schemes(form), INTERPOLATED) for form in ("n @ h w", "@ c h w")),
    "LRN": (Cut(_schemes("@ c h w; ; "), {"reach": symbol("r"), "beta": (symbol("e"), symbol("d"))}),),
    "MaxPool": tuple(Cut(_schemes(form), pool) for form in IMAGES for pool in _pools(dilations=(DILATIONS,))),
    "Pad": tuple(_padded()),
    "Reshape": tuple(_reshaped()),
    "Resize": tuple(Cut(_full(2, at), {"scales": SCALES}) for at in (-3, -4)),
    "SpaceToDepth": (Cut(_schemes("@ c h*k w*k"), {"block": K}),),
    "Squeeze": tuple(Cut(_schemes(form), {"axis": -2}) for form in ("*b 1 @", "*b @ 1 t1")),
    "Subsample": tuple(Cut(_full(2, at), {"strides": SCALES}) for at in (-3, -4)),
    "Transpose": tuple(Cut(_full(len(perm), at), {"perm": perm}) for perm in BOTH for at in CONCAT_AXES),
    "Unsqueeze": tuple(Cut(_full(1, at), {"axis": -2}) for at in CONCAT_AXES[:2]),
    **dict.fromkeys(
        REDUCTIONS, tuple(Cut(_full(len(axes), at), {"axes": axes}) for axes in AXES for at in CONCAT_AXES)
    ),
    **dict.fromkeys(
        ("LogSoftmax", "Softmax"),
        tuple(Cut(_full(-axis, at), {"axis": axis}) for axis in CONCAT_AXES[:3] for at in CONCAT_AXES),
    ),
}
"""Operands and attributes of the others."""
