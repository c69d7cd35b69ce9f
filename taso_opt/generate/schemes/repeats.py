"""Candidates about repeated rows, matrices and pixels: what computes each of them computes it once before.

Each operator that does the same to all of them is applied to repeated operands, and to what these are before, of which
the result is repeated. As where a code is given to all points in space, or both nodes to each of their pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import REAL, parse_scheme
from taso_opt.generate.schemes.cuts import AXES, POINTWISE, REDUCTIONS, SELDOM, G, mapped, parameters
from taso_opt.generate.schemes.passing import DOES_NOT_FIT, confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.elementwise import SWAP

EXPAND = "Expand"
REPEATED = re.compile(r"@(\w)")
"""A size that an axis of size one is repeated to."""

ROWS, PIXELS, POINTS = ("*b @m k", "*b @n m k"), ("*b c @h @w",), ("b c @w",)
BESIDE: Mapping[str, tuple[str, ...]] = {
    **{x: (x, "", "k") for x in ROWS},
    **{x: (x, "", "c 1 1") for x in PIXELS},
    **{x: (x, "", "c 1") for x in POINTS},
}
"""What an element-wise operator may have beside what is repeated: the like of it, numbers, features or channels."""

ON_A_LINE: Mapping[str, Attribute] = {"strides": (1,), "pads": (0, 0), "dilations": (1,), "group": G}
FORMS: Mapping[str, tuple[tuple[str, Mapping[str, Attribute]], ...]] = {
    "BatchNormalization": tuple((f"{x}; c; c; c; c; ", {}) for x in ("b c @h @w", *POINTS)),
    "Concat": (
        *((f"{x}; {x[:-1]}l", {"axis": -1}) for x in ROWS),
        ("*b c @h @w; *b d @h @w", {"axis": -3}),
        ("b c @w; b d @w", {"axis": -2}),
    ),
    "Conv": tuple(
        (f"b g*c {place}; g*d c {one}{bias}", attributes)
        for place, one, attributes in (("@h @w", "1 1", {**POINTWISE, "group": G}), ("@w", "1", ON_A_LINE))
        for bias in ("", "; g*d")
    ),
    "LayerNormalization": tuple((f"{x}; {rest}", {}) for x in ROWS for rest in ("", "; k", "; k; k")),
    "MatMul": tuple((f"{x}; k l", {}) for x in ROWS),
    "RMSNormalization": tuple((f"{x}; {rest}", {}) for x in ROWS for rest in ("", "; k")),
    "Transpose": (("*b @m k", {"perm": SWAP}),),
    **dict.fromkeys(("LogSoftmax", "Softmax"), tuple((x, {"axis": -1}) for x in ROWS)),
    **dict.fromkeys(REDUCTIONS, tuple((x, {"axes": AXES[0]}) for x in ROWS)),
}
"""Operands, of which some are repeated, and attributes of the operators that are not element-wise."""


def discover_repeats(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which one of the named operators is applied to repeated operands, in the order of their text."""
    if EXPAND not in operators:
        return ()
    builder = library.builder()
    return confirmed(_candidates(library, builder), builder, seed, operators)


def _candidates(library: SpecLibrary, builder: Builder) -> Iterator[Rule]:
    for name, operator in sorted(library.operators.items()):
        for form, attributes in _forms(operator):
            rule = _repeated(builder, name, [scheme.strip() for scheme in form.split(";")], attributes)
            if rule is not None and builder.type(rule.source[0]).dtype == REAL:
                yield rule


def _forms(operator: Operator) -> Iterator[tuple[str, Mapping[str, Attribute]]]:
    """What an operator is tried on."""
    if operator.is_map:
        yield from (("; ".join(mapped(operator, x)), values) for values in parameters(operator) for x in BESIDE)
    elif operator.elementwise and operator.arity == 2:
        for x, beside in BESIDE.items():
            others = ("",) if operator.name in SELDOM else beside
            yield from ((f"{x}; {other}", {}) for other in others)
            if not operator.commutative and operator.name not in SELDOM:
                yield from ((f"{other}; {x}", {}) for other in others if other != x)
    yield from FORMS.get(operator.name, ())


def _repeated(builder: Builder, name: str, schemes: list[str], attributes: Mapping[str, Attribute]) -> Rule | None:
    """An operator on repeated operands, and what it makes of these before, repeated; None when these do not fit."""
    before = [Var(f"x{at}", parse_scheme(REPEATED.sub("1", scheme))) for at, scheme in enumerate(schemes)]
    operands: list[Term] = [
        builder.apply(EXPAND, (x,), {"shape": parse_scheme(scheme.replace("@", "")).shape}) if "@" in scheme else x
        for x, scheme in zip(before, schemes, strict=True)
    ]
    try:
        source, once = (builder.apply(name, some, attributes) for some in (operands, before))
        target = builder.apply(EXPAND, (once,), {"shape": builder.type(source).shape})
        fits = builder.type(once) != builder.type(source)
    except DOES_NOT_FIT:
        return None
    return Rule((source,), (target,)) if fits else None
