"""The families of terms that are enumerated apart: which typed variables, at which sizes, under which operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from taso_opt.core.dims import Dim
from taso_opt.core.term import Attribute, Var
from taso_opt.core.types import parse_scheme

Sizes = Mapping[str, "int | tuple[int, ...]"]
Mode = tuple[Attribute, Attribute]
"""Strides and pads."""

OTHER_MODES_OPS = 2

MATRIX_SIZES: tuple[Sizes, ...] = (
    {"m": 3, "k": 4, "n": 5, "p": 2, "l": 6},
    {"m": 5, "k": 2, "n": 3, "p": 7, "l": 4},
)
"""Two sets, unequal within each, so that no equation holds by an accident of shapes; a scalar map that keeps half of
all elements, as Relu's stand-in does, keeps all of a matrix with a chance of 2**-27 or less."""

IMAGE_SIZES: tuple[Sizes, ...] = (
    {"n": 2, "c": 3, "d": 2, "h": 4, "w": 5, "m": 4, "p": 3, "q": 3, "k": 2},
    {"n": 3, "c": 2, "d": 4, "h": 6, "w": 3, "m": 3, "p": 5, "q": 1, "k": 5},
)

STAR_SIZES: tuple[Sizes, ...] = (
    {"*a": (4, 3, 2), "*s": (4, 6), "*r": (24,)},
    {"*a": (5, 6), "*s": (2, 3, 5), "*r": (3, 10)},
)
"""Stars are runs of axes with as many elements under each name."""

SIZES = {
    "matrix": MATRIX_SIZES,
    "image": IMAGE_SIZES,
    "pooling": IMAGE_SIZES,
    "around": IMAGE_SIZES,
    "composed": IMAGE_SIZES,
    "depthwise": IMAGE_SIZES,
    "shape": STAR_SIZES,
}


@dataclass(frozen=True)
class Pool:
    """One set of variables to build terms from, and what is explored over it.

    `families` select attribute values among those that the operators declare; operators without choices take part
    wherever they type-check, except those in `without`. Variables in `weights` may not stand where a product takes
    its data, nor data where it takes weights; without weights all may stand anywhere.
    Operators that work element by element commute with movements one by one, so the pool is explored once for each
    set of `together` of them that broadcast and, with `maps`, once for each that maps a scalar function; with `modes`
    all that once for every choice of strides and pads: the windows of an equation become symbols later on, so that
    only these are explored in full, and the others only in terms of `OTHER_MODES_OPS` operators.
    Where `apart` is not set all operators are explored together, once.
    `max_ops` may keep the terms of a pool smaller than asked, and `deeper` has them with so many operators more: no
    variable stands twice in one of these, which leaves few.
    Movements that take any number of tensors are tried with two, and with three where `threes` is set; a movement to
    any shape is tried with the shapes in `shapes`.
    """

    name: str
    families: tuple[str, ...]
    variables: tuple[Var, ...]
    sizes: tuple[Sizes, ...]
    weights: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    apart: bool = True
    together: int = 1
    maps: bool = False
    modes: tuple[Mode, ...] = ()
    threes: bool = False
    shapes: tuple[tuple[Dim, ...], ...] = ()
    max_ops: int = 6
    deeper: int = 0


def _pool(
    name: str,
    families: str,
    variables: str,
    weights: str = "",
    without: Iterable[str] = (),
    shapes: str = "",
    **options: Any,
) -> Pool:
    """A pool whose variables are written as in `x y: m k; w: k n; s:`."""
    typed = []
    for group in f"{variables}; {weights}".split(";"):
        names, _, scheme = group.partition(":")
        typed += [Var(name, parse_scheme(scheme)) for name in names.split()]
    heavy = frozenset(name for group in weights.split(";") for name in group.partition(":")[0].split())
    sizes = SIZES[families.split()[0]]
    targets = tuple(parse_scheme(scheme).shape for scheme in shapes.split(";") if scheme)
    return Pool(
        name, tuple(families.split()), tuple(typed), sizes, heavy, frozenset(without), shapes=targets, **options
    )


JOINS = ("Concat", "Split")
PLACES = (*JOINS, "Transpose", "MatMul")
POOLING = ("AveragePool", "MaxPool")
WINDOWED = ("Conv", *POOLING)
FLAT = ("Transpose", "MatMul")
IMAGES_MOVE = (*WINDOWED, "MatMul")
IMAGES_JOIN = (*WINDOWED, *FLAT)

PRODUCTS: tuple[Pool, ...] = (
    _pool("chain", "matrix", "x: m k; w: k n; u: n p"),
    _pool("linear", "matrix", "x y: m k; w v: k n; s: "),
    _pool("scaled", "matrix", "x: m k; w: k n; b: n; r: m 1; s: ", without=JOINS),
    _pool("inner scales", "matrix", "x: m k; w: k n; c: k 1", without=JOINS),
    _pool("columns", "matrix", "x: m k; w: k n; v: k p; b: n; c: p; s: "),
    _pool("stacked rows", "matrix", "x: m k; y: l k; w: k n; b: n; s: "),
    _pool("inner", "matrix", "x: m k; y: m l; w: k n; v: l n"),
    _pool("split operands", "matrix", "x: m n+p; y: n+p m; w: m k; v: k n+p"),
    _pool("stacked products", "image", "x: c m k; y: d m k; w: c k n; v: d k n; u: k n", without=WINDOWED),
    _pool("leading ones", "image", "x: d c m k", "w: 1 k n", without=[*WINDOWED, *JOINS, "Transpose"], together=0,
          shapes="k n", max_ops=2),
    _pool("split stacks", "image", "x: c+d m k; y: c+d k n; u: k n", without=WINDOWED),
    _pool("identity matrices", "matrix identity", "x: m k; s: ", "w: k k", without=JOINS, together=2),
    _pool("identity matrices before", "matrix identity", "x: m k; w: m m; s: ", without=JOINS, together=2, max_ops=3),
)  # fmt: skip

ELEMENTS: tuple[Pool, ...] = (
    _pool("element by element", "matrix", "x y z t: m n", without=PLACES, together=2, maps=True),
    _pool("rows", "matrix", "x y: m n; b c: n", without=PLACES, together=2),
    _pool("column scales", "matrix", "x y: m n; r t: m 1", without=PLACES, together=2),
    _pool("scalars", "matrix", "x y: m n; r s: ", without=PLACES, together=2),
    _pool("rows and scalars", "matrix", "x: m n; b: n; s: ", without=PLACES),
    _pool("columns and scalars", "matrix", "x: m n; r: m 1; s: ", without=PLACES),
    _pool("any shape", "shape", "x y z: *a; s: ", maps=True),
)

MOVEMENTS: tuple[Pool, ...] = (
    _pool("joined columns", "matrix", "x y: m n; z t: m p; b: n; c: p; s: ", without=["MatMul"], maps=True),
    _pool("joined rows", "matrix", "x y: m n; z t: l n; b: n; s: ", without=["MatMul"], maps=True),
    _pool("joined scaled columns", "matrix", "x: m n; z: m p; r: m 1", without=FLAT),
    _pool("joined scaled rows", "matrix", "x: m n; z: l n; r: m 1; t: l 1", without=FLAT),
    _pool("blocks", "matrix", "x: m n; y: m p; z: l n; t: l p", without=["MatMul"], maps=True),
    _pool("three parts", "matrix", "x: m n; y: m p; z: m l; t: k n", without=["MatMul"], threes=True, max_ops=2),
    _pool("three images", "image", "x: n c h w; y: n d h w; z: q c h w", without=IMAGES_JOIN, threes=True, max_ops=2),
    _pool("split columns", "matrix", "x y: m n+p; b: n+p; s: ", without=["MatMul"], maps=True),
    _pool("split rows", "matrix", "x y: n+p m; b: m; s: ", without=["MatMul"], maps=True),
    _pool("joined channels", "image", "x y: n c h w; z t: n d h w; s: ", without=IMAGES_MOVE, maps=True),
    _pool("joined scaled channels", "image", "x: n c h w; z: n d h w; b: w; r: c 1 1; t: d 1 1", without=IMAGES_JOIN),
    _pool("joined batch", "image", "x y: n c h w; z t: q c h w; s: ", without=IMAGES_MOVE, maps=True),
    _pool("joined scaled batch", "image", "x: n c h w; z: q c h w; b: w; t: c 1 1", without=IMAGES_JOIN),
    _pool("split channels", "image", "x y: n c+d h w; s: ", without=IMAGES_MOVE, maps=True),
    _pool("split scaled channels", "image", "x: n c+d h w; b: w; t: c+d 1 1", without=IMAGES_JOIN),
    _pool("split batch", "image", "x y: n+q c h w; s: ", without=IMAGES_MOVE, maps=True),
    _pool("split scaled batch", "image", "x: n+q c h w; b: w; t: c 1 1", without=IMAGES_JOIN),
    _pool("crossed joins", "image matrix", "x y z t: n c h w", without=IMAGES_JOIN, together=0),
    _pool("crossed splits", "image matrix", "x: n+q c+d h+k w+p", without=IMAGES_JOIN, together=0),
)

SHRINKING: tuple[Mode, ...] = (((2, 2), (0, 0, 0, 0)),)
GROUPING: tuple[Mode, ...] = (((1, 1), (0, 0, 0, 0)),)
POOLED: tuple[Mode, ...] = (*SHRINKING, ((1, 1), (1, 1, 1, 1)))

CONVOLUTIONS: tuple[Pool, ...] = tuple(
    _pool(name, families, variables, weights, [*FLAT, *without], shapes, modes=modes)
    for name, families, variables, weights, without, shapes, modes in (
        ("convolutions", "image", "x y: n c h w; s: ", "f g: m c 3 3", (), "", SHRINKING),
        ("biased convolutions", "image", "x y: n c h w", "f g: m c 3 3; a b: m", (), "", SHRINKING),
        ("merged kernels", "image matrix", "x: n c h w", "f: m c 3 3; g: p c 3 3; a: m; b: p", (), "", SHRINKING),
        ("merged images", "image", "x: n c h w; y: q c h w", "f: m c 3 3; a: m", (), "", SHRINKING),
        ("summed convolutions", "image", "x: n c h w; y: n d h w", "f: m c 3 3; g: m d 3 3", (), "", SHRINKING),
        ("scaled channels", "image", "x: n c h w; t: c 1 1", "f: m c 3 3; a: m; s: m 1 1", (*JOINS, *POOLING),
         "m; m 1 1; m 1 1 1", SHRINKING),
        ("scaled groups", "image", "x: n 2*c h w", "f: 2*m c 3 3; a: 2*m; s: 2*m 1 1", (*JOINS, *POOLING),
         "2*m; 2*m 1 1; 2*m 1 1 1", GROUPING),
        ("grouped", "image", "x y: n 2*c h w; s: ", "f g: 2*m c 3 3; a b: 2*m", POOLING, "", GROUPING),
        ("paired groups", "image", "x y: n c h w", "f g: m c 3 3; a b: m", POOLING, "", GROUPING),
        ("split images", "image matrix", "x: n+q c h w; s: ", "f: m c 3 3; g: m+p c 3 3; a: m; b: m+p", (), "",
         SHRINKING),
        ("pooled channels", "image", "x y: n c h w; z: n d h w; s: ", "", ("Conv",), "", POOLED),
        ("pooled batch", "image", "x: n c h w; z: q c h w", "", ("Conv",), "", POOLED),
        ("split pooled images", "image", "x: n+q c h w; y: n c+d h w", "", ("Conv",), "", POOLED),
    )
)  # fmt: skip

NOT_SHIFTS = (*JOINS, *POOLING, *FLAT, "Sub")
NOT_SUMS = (*NOT_SHIFTS, "Mul")
KERNELS: tuple[Pool, ...] = (
    _pool("enlarged kernels", "image kernel", "x: n c h w", "f: m c 1 1; g: m c 3 3; a: m", without=NOT_SUMS),
    _pool("identity kernels", "image kernel", "x: n c h w", "f: c c 1 1; a: c", without=NOT_SUMS),
    _pool(
        "scaled identity kernels",
        "image kernel",
        "x: n c h w",
        "f: c c 1 1; a: c; t: c 1 1",
        without=NOT_SHIFTS,
        together=2,
    ),
    _pool("scales as kernels", "depthwise", "x: n c h w", "f: c 1 1 1; a: c", NOT_SHIFTS, "c 1 1", max_ops=3),
    _pool("kernels of pairs", "image kernel", "x: n 2*c h w", "f: 2*m c 3 3; a: 2*m", without=NOT_SUMS, max_ops=2),
    _pool(
        "composed kernels", "composed", "x: n c h w", "f: m c 3 3; k: p m 1 1; a: m; b: p", without=NOT_SUMS, together=0
    ),
    _pool(
        "kernels after pointwise ones",
        "composed",
        "x: n c h w",
        "f: m c 1 1; k: p m 3 3; a: m; b: p",
        without=NOT_SUMS,
        together=0,
    ),
    _pool("pooling kernels", "pooling", "x: n 2*c h w", "f: 2*c c 3 3; a: 2*c", without=(*JOINS, *FLAT), max_ops=3),
)

POINTWISE = _pool("pointwise", "image", "x: n c h w", "f: m c 1 1; a: m", FLAT, max_ops=2)

BIASED_GROUPS = _pool(
    "biased groups",
    "image matrix",
    "x y: n c h w",
    "f g: m c 3 3; a b: m",
    [*FLAT, *POOLING],
    together=0,
    modes=GROUPING,
    deeper=1,
)
"""Convolutions side by side with all that exporters give them: images, kernels and biases have to be joined."""

NOT_ADDED = ("Sub", "Mul")

BIASED_SUMS = _pool(
    "biased sums",
    "image",
    "x: n c h w; y: n d h w",
    "f: m c 3 3; g: m d 3 3; a b: m",
    [*FLAT, *POOLING, *NOT_ADDED, "Split"],
    modes=GROUPING,
    deeper=1,
)
"""The same for convolutions that are added up: images and kernels have to be joined, and biases to be added."""

SUMS: tuple[Pool, ...] = (
    _pool("summed products", "matrix sums totals", "x: m k; w: k n", without=JOINS, together=0),
    _pool("products as sums", "matrix sums", "x: m n; b: 1 n; r: m 1", without=[*JOINS, "Add", "Sub"], max_ops=2),
    _pool("summed columns", "matrix sums", "x: m n; z: m p", without=[*FLAT, *NOT_ADDED]),
    _pool("summed rows", "matrix sums", "x: m n; z: l n", without=[*FLAT, *NOT_ADDED]),
    _pool("summed parts", "matrix sums", "x: m n+p; y: n+p m", without=FLAT, together=0),
)
"""What passes sums over rows or columns; what element-wise operators let pass is tried apart, as for means."""

SHARES: tuple[Pool, ...] = (
    _pool("shares of joins", "matrix shares", "x: m n; y: l n; z: m p", without=["MatMul"], together=0),
    _pool("shares of parts", "matrix shares", "x: m n+p; y: n+p m", without=["MatMul"], together=0, max_ops=2),
    _pool("shares of images", "image shares", "x: n c h w; y: n d h w", without=[*WINDOWED, "MatMul"], together=0,
          shapes="n*c h w"),
)  # fmt: skip
"""What passes the shares along an axis."""

PADDED: tuple[Pool, ...] = (
    _pool("padding of nothing", "matrix unpadded", "x: m n", without=PLACES, together=0, max_ops=1),
    _pool("padded elements", "matrix padded", "x y: m n; s: ", without=PLACES, maps=True),
    _pool("padded products", "matrix padded", "x: m k; w: k n", without=JOINS, together=0),
    _pool("padded joins", "matrix padded", "x: m n; z: m l; y: k n", without=FLAT, together=0),
    _pool("padded channels", "image channels", "x: n c h w", "f: m c 3 3; a: m", [*JOINS, *FLAT, *POOLING],
          together=0, modes=GROUPING),
    _pool("padded images", "around", "x: n 2*c h w", "f: 2*m c 3 3; a: 2*m", [*JOINS, *FLAT], together=0, max_ops=2),
)  # fmt: skip
"""What passes zeros around rows, columns, channels and images, and what becomes of them."""

EXTRA: tuple[Pool, ...] = (_pool("whole products", "matrix", "x y: m k; w v: k n", apart=False),)
"""Pools that are explored only where they are asked for by name. `whole products` has all operators at once: what it
has over the others are equations in which several element-wise operators meet around products, joins and splits."""

POOLS: tuple[Pool, ...] = (
    *PRODUCTS,
    *ELEMENTS,
    *MOVEMENTS,
    *CONVOLUTIONS,
    *KERNELS,
    POINTWISE,
    BIASED_GROUPS,
    BIASED_SUMS,
    *SUMS,
    *SHARES,
    *PADDED,
)
