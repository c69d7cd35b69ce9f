"""Candidates about images of one row: what slides along a line does the same there.

Runtimes compute on images in layouts that they do not have for lines, as signals and sequences are. So each operator is
applied to lines, and to the same with an axis of one row; what type-checks and agrees in floats is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from taso_opt.core.dims import symbol, total
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import REAL, TensorType, parse_scheme
from taso_opt.generate.schemes.cuts import SELDOM, Cut, G, mapped, parameters
from taso_opt.generate.schemes.passing import confirmed, passed
from taso_opt.generate.schemes.slices import NEIGHBOURS
from taso_opt.rewrite.patterns.rows import ROW
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS

UNSQUEEZE, SQUEEZE = "Unsqueeze", "Squeeze"

LINES: Mapping[str, Attribute] = {name: values[1::2] for name, values in ANY_WINDOWS.items()}
"""Windows that slide along one axis, as those of images along columns."""

WIDTH: Mapping[str, Attribute] = {"kernel": ANY_KERNEL["kernel"][1:]}

PAIRS = ("*b w; *b w", "*b w; w", "*b w; *b 1", "*b w; ", "n c w; c 1", "n c w; c w", "n c w; 1 c 1")
FEW = ("*b w; *b w", "*b w; ", "n c w; c 1")
ELEMENTS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), PAIRS),
    **dict.fromkeys(("Max", "Min", "PRelu"), FEW),
}
"""Operands of element-wise operators on lines."""

FORMS: Mapping[str, tuple[Cut, ...]] = {
    "BatchNormalization": (Cut(("n c w", "c", "c", "c", "c", "")),),
    "Concat": tuple(
        Cut(pair, {"axis": axis})
        for axis, pair in ((-1, ("*b k", "*b l")), (-2, ("*b k w", "*b l w")), (-3, ("*b k c w", "*b l c w")))
    ),
    "Conv": tuple(Cut(("n g*c w", "g*m c k", *bias), {**LINES, "group": G}) for bias in ((), ("g*m",))),
    "Expand": (Cut(("n c 1",), {"shape": tuple(map(symbol, "ncw"))}),),
    "Gelu": (Cut(("*b w", "")), Cut(("*b w", "", ""))),
    "GlobalAveragePool": (Cut(("n c w",)),),
    "GlobalMaxPool": (Cut(("n c w",)),),
    "InstanceNormalization": (Cut(("n c w", "")), Cut(("n c w", "", "c", "c"))),
    "MaxPool": (Cut(("n c w",), {**LINES, **WIDTH}),),
    "AveragePool": tuple(
        Cut(("n c w",), {"strides": LINES["strides"], "pads": LINES["pads"], **WIDTH, "count_include_pad": count})
        for count in (0, 1)
    ),
    "Pad": (Cut(("*b c w",), {"pads": (0, ANY_WINDOWS["pads"][1], 0, ANY_WINDOWS["pads"][3])}),),
    **dict.fromkeys(("ReduceMax", "ReduceMean"), (Cut(("*b w",), {"axes": (-1,)}),)),
    "Resize": (Cut(("n c w",), {"scales": (1, symbol("s_w"))}),),
}
"""Operands and attributes of the other operators."""


def discover_lines(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which an axis of one row meets one of the named operators, in the order of their text form."""
    builder = library.builder()
    rules = (*_undone(builder), *_raised(library, builder)) if {UNSQUEEZE, SQUEEZE} <= operators else ()
    return confirmed(rules, builder, seed, operators)


def _undone(builder: Builder) -> Iterator[Rule]:
    """A row that is added and taken away, and one that is taken away and added."""
    x, y = (Var("x0", parse_scheme(scheme)) for scheme in ("*b w", "*b 1 w"))
    yield Rule((_with_row(SQUEEZE, builder, _with_row(UNSQUEEZE, builder, x)),), (x,))
    yield Rule((_with_row(UNSQUEEZE, builder, _with_row(SQUEEZE, builder, y)),), (y,))


def _raised(library: SpecLibrary, builder: Builder) -> Iterator[Rule]:
    """A row added to results as one added to operands."""
    for operator in library.operators.values():
        for form in _forms(operator):
            rule = passed(builder, operator.name, form, _row_of, _attribute_of_rows)
            if rule is not None:
                yield rule
    yield from _of_parts(builder)


def _forms(operator: Operator) -> Iterator[Cut]:
    """What an operator is applied to."""
    if operator.is_map:
        yield from (Cut(mapped(operator, "*b w"), values) for values in parameters(operator))
    pairs = [tuple(pair.split("; ")) for pair in ELEMENTS.get(operator.name, ())]
    in_order = operator.commutative or operator.name in SELDOM
    yield from map(Cut, dict.fromkeys([*pairs, *(pair[::-1] for pair in pairs if not in_order)]))
    yield from FORMS.get(operator.name, ())


def _of_parts(builder: Builder) -> Iterator[Rule]:
    """A row added to each part of a split."""
    for axis, count in product((-1, -2), NEIGHBOURS):
        sizes = tuple(symbol(f"n{at}") for at in range(count))
        x = Var("x0", TensorType(REAL, (symbol("*b"), total(sizes), *(symbol("w"),) * (-1 - axis))))
        values: dict[str, Attribute] = {"axis": axis, "sizes": sizes}
        raised = {name: _attribute_of_rows(name, value) for name, value in values.items()}
        split = builder.apply("Split", (x,), values)
        of_row = builder.apply("Split", (_with_row(UNSQUEEZE, builder, x),), raised)
        for part in range(count):
            source = _with_row(UNSQUEEZE, builder, builder.item(split, part))
            yield Rule((source,), (builder.item(of_row, part),))


def _row_of(builder: Builder, term: Term) -> Term | None:
    """A term with an axis of one row; None for what has columns alone, which broadcasts along rows."""
    return _with_row(UNSQUEEZE, builder, term) if builder.type(term).rank > 1 else None


def _with_row(name: str, builder: Builder, term: Term) -> Term:
    return builder.apply(name, (term,), {"axis": ROW})


def _attribute_of_rows(name: str, value: Attribute) -> Attribute:
    """An attribute as it is for lines that are rows of an image."""
    if name == "axis" and isinstance(value, int):
        return value if value > ROW else value - 1
    if name in ("strides", "dilations", "kernel") and isinstance(value, tuple):
        return (1, *value)
    if name == "shape" and isinstance(value, tuple):
        return (*value[:-1], 1, value[-1])
    if name == "pads" and isinstance(value, tuple) and len(value) == 2:
        return (0, value[0], 0, value[1])
    return value
