"""States an equation over other variables and with other attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Item, Term, Var
from taso_opt.errors import TypeMismatch
from taso_opt.spec.builder import Builder

NewVariable = Callable[[Var], Var]
NewAttributes = Callable[[Apply], Mapping[str, Attribute]]


def restated(builder: Builder, rule: Rule, variable: NewVariable, attributes: NewAttributes) -> Rule:
    """The same equation with other variables and all attributes anew, without its conditions.

    Raises TypeMismatch unless both sides get the same types again.
    """
    made: dict[Term, Term] = {}
    for term in rule.terms:
        match term:
            case Var():
                made[term] = variable(term)
            case Item():
                made[term] = builder.item(made[term.term], term.index)
            case Apply():
                made[term] = builder.apply(term.operator, [made[child] for child in term.args], attributes(term))
            case _:
                made[term] = term
    new = Rule(tuple(made[term] for term in rule.source), tuple(made[term] for term in rule.target))
    if [builder.types(term) for term in new.source] != [builder.types(term) for term in new.target]:
        raise TypeMismatch("expected both sides to have the same types, found different ones")
    return new
