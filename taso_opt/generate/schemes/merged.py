"""Candidates in which neighbouring axes become one: along an axis between two runs of others nothing else changes.

Kernels walk along an axis in the middle at another pace than along one that is first, and runtimes do not always see
that an axis of one element before it is none, or that several behind it are one. So each operator that works along one
axis is applied to its operand, and to the same elements with all axes before that one merged, and all behind it; one
that keeps all elements also along the columns of the transposed matrix in place of the rows. Matrices are transposed
before the axes that number them are merged, or one is split, and behind that.
"""

from __future__ import annotations

from collections.abc import Iterator

from taso_opt.core.dims import Dim, product
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.cuts import REDUCTIONS
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.elementwise import SWAP

ALONE = ("1 c h", "1 c h w")
"""Operands whose first axis has one element."""

SEVERAL = ("n c h w",)
"""Others; of these runtimes merge axes themselves where elements are brought together, not where all stay."""

KEEPING = ("LogSoftmax", "Softmax")
"""What gives as many elements as it takes."""

FORMS = {**dict.fromkeys(REDUCTIONS, ALONE), **dict.fromkeys(KEEPING, (*ALONE, *SEVERAL))}


def discover_merged(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about the named operators along one axis, in the order of their text form."""
    builder = library.builder()
    return confirmed(_rules(builder), builder, seed, operators)


def _rules(builder: Builder) -> Iterator[Rule]:
    for name, schemes in FORMS.items():
        for scheme in schemes:
            x = Var("x", parse_scheme(scheme))
            for axis in range(1, x.type.rank - 1):
                yield Rule((_along(builder, name, x, axis),), (_merged(builder, name, x, axis),))
    for name in KEEPING:
        x = Var("x", parse_scheme("*b m n"))
        yield Rule((_along(builder, name, x, x.type.rank - 2),), (_turned(builder, name, x),))
    for scheme, numbered in (("n c h w", "n*c h w"), ("n*c h w", "n c h w")):
        yield _numbered(builder, Var("x", parse_scheme(scheme)), parse_scheme(numbered).shape)


def _merged(builder: Builder, name: str, x: Var, axis: int) -> Term:
    """The operator along the axis that was one in the middle, and its result in the shape that it would have had."""
    shape = x.type.shape
    before, behind = product(shape[:axis]), product(shape[axis + 1 :])
    first: tuple[Dim, ...] = () if before == 1 else (before,)
    merged = builder.apply("Reshape", (x,), {"shape": (*first, shape[axis], behind)})
    result = builder.type(_along(builder, name, x, axis)).shape
    return builder.apply("Reshape", (_along(builder, name, merged, len(first)),), {"shape": result})


def _turned(builder: Builder, name: str, x: Var) -> Term:
    """The operator along rows as along the columns of what is transposed."""
    columns = builder.apply("Transpose", (x,), {"perm": SWAP})
    result = _along(builder, name, columns, x.type.rank - 1)
    return builder.apply("Transpose", (result,), {"perm": SWAP})


def _numbered(builder: Builder, x: Var, shape: tuple[Dim, ...]) -> Rule:
    """Matrices that are transposed and then numbered in another way, or first numbered."""
    first = transposed(builder, reshaped(builder, x, shape))
    return Rule((reshaped(builder, transposed(builder, x), builder.type(first).shape),), (first,))


def _along(builder: Builder, name: str, operand: Term, axis: int) -> Term:
    from_end = axis - builder.type(operand).rank
    attributes: dict[str, Attribute] = {"axes": (from_end,)} if name in REDUCTIONS else {"axis": from_end}
    return builder.apply(name, (operand,), attributes)
