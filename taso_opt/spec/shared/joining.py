"""Laws about joined and cut operands of element-wise operators, for every way in which operands broadcast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from taso_opt.core.dims import symbol
from taso_opt.core.term import Term
from taso_opt.spec.axiom import Axiom
from taso_opt.spec.builder import Builder
from taso_opt.spec.shared.elementwise import CONCAT_AXES, items

Binary = Callable[[Builder, Term, Term], Term]

KINDS: Mapping[str, Binary] = {
    "sums": lambda op, x, y: op.Add(x, y),
    "products": lambda op, x, y: op.Mul(x, y),
    "differences": lambda op, x, y: op.Sub(x, y),
    "reversed_differences": lambda op, x, y: op.Sub(y, x),
}

JOINED: Mapping[str, tuple[str, str, tuple[int, ...]]] = {
    "tensors": ("*b @n", "*b @n", CONCAT_AXES),
    "rows": ("*b n", "n", (-1,)),
    "columns": ("*b n m", "*b n 1", (-2,)),
    "matrices_of_columns": ("*b m n", "m n", (-1,)),
    "matrices_of_rows": ("*b n m", "n m", (-2,)),
    "channels": ("*b n h w", "n 1 1", (-3,)),
}
"""Operands that are joined or cut together: the schemes of the first and the second, of size n along the axes."""

SHARED: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "scalar": ("", CONCAT_AXES),
    "row": ("t1", (-2, -3, -4)),
    "column": ("*b 1", (-1,)),
    "matrix": ("t2 t1", (-3, -4)),
    "channel": ("t3 1 1", (-4,)),
}
"""Second operands that broadcast along the axis, so that both parts share them."""


def laws_of_joined_operands() -> tuple[Axiom, ...]:
    """The concatenation of two results is the result for concatenated operands."""
    found = []
    for kind, f in KINDS.items():
        for form, (first, second, axes) in JOINED.items():
            schemes = {"x": first, "y": second, "z": _with_size(first, "p"), "w": _with_size(second, "p")}
            found.append(Axiom(f"concat_of_{kind}_of_{form}", _concat_of_joined(f), (schemes,), {"axis": axes}))
        for form, (shared, axes) in SHARED.items():
            schemes = {"x": "*b @n", "y": shared, "z": "*b @p"}
            found.append(Axiom(f"concat_of_{kind}_with_one_{form}", _concat_of_shared(f), (schemes,), {"axis": axes}))
    return tuple(found)


def laws_of_cut_operands() -> tuple[Axiom, ...]:
    """The parts of a result are the results for parts of the operands."""
    found = []
    for kind, f in KINDS.items():
        for form, (first, second, axes) in JOINED.items():
            schemes = {"x": _with_size(first, "n+p"), "y": _with_size(second, "n+p")}
            found.append(Axiom(f"split_of_{kind}_of_{form}", _split_of_joined(f), (schemes,), {"axis": axes}))
        for form, (shared, axes) in SHARED.items():
            schemes = {"x": "*b @n+p", "y": shared}
            found.append(Axiom(f"split_of_{kind}_with_one_{form}", _split_of_shared(f), (schemes,), {"axis": axes}))
    return tuple(found)


def _with_size(scheme: str, size: str) -> str:
    return scheme.replace("n", size)


def _concat_of_joined(f: Binary) -> Callable[..., Any]:
    def law(op: Builder, x: Term, y: Term, z: Term, w: Term, axis: int) -> tuple[Term, Term]:
        joined = op.Concat(f(op, x, y), f(op, z, w), axis=axis)
        return joined, f(op, op.Concat(x, z, axis=axis), op.Concat(y, w, axis=axis))

    return law


def _concat_of_shared(f: Binary) -> Callable[..., Any]:
    def law(op: Builder, x: Term, y: Term, z: Term, axis: int) -> tuple[Term, Term]:
        return op.Concat(f(op, x, y), f(op, z, y), axis=axis), f(op, op.Concat(x, z, axis=axis), y)

    return law


def _split_of_joined(f: Binary) -> Callable[..., Any]:
    def law(op: Builder, x: Term, y: Term, axis: int) -> tuple[Any, Any]:
        pairs = zip(halves(op, x, axis), halves(op, y, axis), strict=True)
        return halves(op, f(op, x, y), axis), tuple(f(op, u, v) for u, v in pairs)

    return law


def _split_of_shared(f: Binary) -> Callable[..., Any]:
    def law(op: Builder, x: Term, y: Term, axis: int) -> tuple[Any, Any]:
        return halves(op, f(op, x, y), axis), tuple(f(op, part, y) for part in halves(op, x, axis))

    return law


def halves(op: Builder, x: Term, axis: int) -> tuple[Term, Term]:
    """Both parts of a split into sizes n and p."""
    return items(op.Split(x, axis=axis, sizes=(symbol("n"), symbol("p"))))


def scheme_of(sizes: Mapping[int, str]) -> str:
    """The scheme of the smallest rank that has these sizes at these axes, counted from the end, and any batch."""
    depth = -min(sizes)
    return " ".join(["*b", *(sizes.get(axis, f"t{-axis}") for axis in range(-depth, 0))])
