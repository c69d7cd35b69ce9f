"""How a candidate is made that takes an operator on a result to the operands of what gives it, and confirmed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.errors import SpecError
from taso_opt.generate.equations.canonical import canonical
from taso_opt.generate.equations.confirm import holds_in_floats
from taso_opt.generate.schemes.cuts import Cut
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import format_rule

INSTANCES = 3
"""At how many sizes both sides have to agree."""

DOES_NOT_FIT = (SpecError, TypeError, ValueError, LookupError, ArithmeticError)
"""What type inference says of operands that do not fit, and meanings of sizes that they cannot handle."""

Kept = Callable[[str, Attribute], Attribute]
"""The value that an attribute of some name has for what is taken."""

Take = Callable[[Builder, Term], "Term | None"]
"""What is taken of a term, a slice or a mean; None for a term that has nothing to take it of."""


def passed(builder: Builder, name: str, cut: Cut, take: Take, kept: Kept) -> Rule | None:
    """What is taken of a result, and the result for what is taken of the operands; None when these differ in type.

    `kept` gives the attributes for what is taken.
    """
    operands = [Var(f"x{at}", parse_scheme(scheme)) for at, scheme in enumerate(cut.schemes)]
    try:
        source = take(builder, builder.apply(name, operands, cut.attributes))
        parts = [take(builder, operand) or operand for operand in operands]
        target = builder.apply(name, parts, {key: kept(key, value) for key, value in cut.attributes.items()})
        fits = source is not None and builder.type(source) == builder.type(target)
    except DOES_NOT_FIT:
        return None
    return Rule((source,), (target,)) if fits and source is not None else None


def confirmed(rules: Iterable[Rule], builder: Builder, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Those with the named operators alone whose sides agree in floats, in canonical form, in the order of the text."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.operators <= operators and holds_in_floats(rule, builder, seed, INSTANCES):
            general = canonical(rule, builder)
            found[format_rule(general)] = general
    return tuple(found[text] for text in sorted(found))
