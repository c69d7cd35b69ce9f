"""Operators that map one scalar function over a tensor, and the laws that hold for every such map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Attribute, Item, Term
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec.axiom import Axiom
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array, ArrayModule, Operator, ScalarFunction, Spelling, plain_spelling
from taso_opt.spec.shared.shapes import broadcast, is_number, same_dtype

CONCAT_AXES = (-1, -2, -3, -4)
SWAP = (-1, -2)
SCALARS = "scalar"
"""The family under which operators list the parameters that the enumeration of scalar functions tries."""

PERMUTATIONS = ((-2, -3, -1), (-2, -1, -3), (-1, -3, -2), (-1, -2, -3))


def broadcasts(*names: str) -> tuple[str, ...]:
    """Schemes for operands of element-wise operators: full, or a row, column, channel, matrix or scalar repeated.

    The case that all are full is left to the annotations of the axiom.
    """
    found: dict[str, None] = {}
    for forms in product(("*b n", "n", "*b 1", ""), repeat=len(names)):
        if "*b n" in forms or {"n", "*b 1"} <= set(forms):
            found[_schemes(names, forms)] = None
    for full, part in (("*b l m n", "l 1 1"), ("*b m n", "m n")):
        for forms in product((full, part, ""), repeat=len(names)):
            if {full, part} <= set(forms):
                found[_schemes(names, forms)] = None
    return tuple(found)[1:]


def _schemes(names: tuple[str, ...], forms: tuple[str, ...]) -> str:
    any_shape = {"*b n": "*a"} if set(forms) <= {"*b n", ""} else {}
    return "; ".join(f"{name}: {any_shape.get(form, form)}" for name, form in zip(names, forms, strict=True))


def unary_operator(name: str, function: ScalarFunction) -> Operator:
    """The operator that maps `function` over its operand and is spelled `name` in ONNX."""

    def infer(x: TensorType) -> TensorType:
        return x

    def evaluate(xp: ArrayModule, x: Array) -> Array:
        return xp.apply(function, x)

    return Operator(name, infer=infer, evaluate=evaluate, spelling=plain_spelling(name), arity=1, elementwise=True)


def scalar_operator(
    name: str,
    evaluate: Callable[..., Array],
    arity: int = 1,
    *,
    infer: Callable[..., TensorType] | None = None,
    spelling: Spelling | None = None,
    commutative: bool = False,
    numbers: bool = False,
    choices: Sequence[Mapping[str, Attribute]] = (),
) -> Operator:
    """An element-wise operator of the scalar family; `choices` are the parameters that its enumeration tries.

    With `numbers` every operand but the first is one number for all elements of that.
    """

    def keep(x: TensorType, *others: TensorType, **_: object) -> TensorType:
        same_dtype(x, *others)
        if not all(map(is_number, others)):
            found = ", ".join(map(str, others))
            raise TypeMismatch(f"expected a number for every operand of {name} but the first, found {found}")
        return x

    return Operator(
        name,
        infer=infer or (keep if arity == 1 or numbers else broadcast),
        evaluate=evaluate,
        spelling=spelling or plain_spelling(name),
        arity=arity,
        commutative=commutative,
        choices={SCALARS: choices} if choices else {},
        elementwise=True,
        numbers=numbers,
        scalar=True,
    )


def unary_laws(name: str, function: ScalarFunction) -> tuple[Axiom, ...]:
    """A map commutes with everything that only moves elements; an idempotent one absorbs itself."""

    def of_concat(op: Builder, x: Term, y: Term, axis: int) -> tuple[Term, Term]:
        f = getattr(op, name)
        return op.Concat(f(x), f(y), axis=axis), f(op.Concat(x, y, axis=axis))

    def of_split(op: Builder, x: Term, axis: int) -> tuple[Any, Any]:
        f = getattr(op, name)
        sizes = (symbol("n"), symbol("p"))
        moved, kept = op.Split(f(x), axis=axis, sizes=sizes), op.Split(x, axis=axis, sizes=sizes)
        return items(moved), tuple(f(item) for item in items(kept))

    def of_transpose(op: Builder, x: Term, perm: tuple[int, ...]) -> tuple[Term, Term]:
        f = getattr(op, name)
        return f(op.Transpose(x, perm=perm)), op.Transpose(f(x), perm=perm)

    def of_reshape(op: Builder, x: Term) -> tuple[Term, Term]:
        f, shape = getattr(op, name), (symbol("*s"),)
        return f(op.Reshape(x, shape=shape)), op.Reshape(f(x), shape=shape)

    def of_itself(op: Builder, x: Term) -> tuple[Term, Term]:
        f = getattr(op, name)
        return f(f(x)), f(x)

    prefix = name.lower()
    laws = [
        Axiom(f"{prefix}_of_concat", of_concat, ({"x": "*b @n", "y": "*b @p"},), {"axis": CONCAT_AXES}),
        Axiom(f"{prefix}_of_split", of_split, ({"x": "*b @n+p"},), {"axis": CONCAT_AXES}),
        Axiom(f"{prefix}_of_transpose", of_transpose, ({"x": "*b m n"},), {"perm": (SWAP,)}),
        Axiom(f"{prefix}_of_permutation", of_transpose, ({"x": "*b l m n"},), {"perm": PERMUTATIONS}),
        Axiom(f"{prefix}_of_reshape", of_reshape, ({"x": "*a"},), {}),
    ]
    if function.idempotent:
        laws.append(Axiom(f"{prefix}_is_idempotent", of_itself, ({"x": "*a"},), {}))
    return tuple(laws)


def items(split: Term) -> tuple[Term, Term]:
    """Both parts of a two-way split."""
    assert isinstance(split, Apply), f"items are taken of an operator application, found {split!r}"
    return Item(split, 0), Item(split, 1)
