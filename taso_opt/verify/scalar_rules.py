"""Tells equations between scalar functions, and those about operators without axioms, from what axioms prove.

Axioms say nothing of the order of numbers. So what holds for constants within bounds only, or because the greatest of
several elements moves with them, is proved from the meanings of the operators as well.
"""

from __future__ import annotations

from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Const, Item
from taso_opt.spec.builder import Builder


def is_scalar(builder: Builder, rule: Rule) -> bool:
    """Whether an equation is between element-wise expressions of which some operator is known on scalars only."""
    operators = [builder.operator(term) for term in rule.applications]
    if any(operator is None or not operator.elementwise for operator in operators) or not operators:
        return False
    special = any(operator is not None and operator.scalar for operator in operators)
    return (special or _has_literals(rule) or bool(rule.conditions)) and not _has_parts(rule)


def is_definitional(builder: Builder, rule: Rule) -> bool:
    """Whether an equation is about operators that no axiom speaks of, and not element-wise alone."""
    if is_scalar(builder, rule):
        return False
    if rests_on_order(builder, rule):
        return True
    operators = [builder.operator(term) for term in rule.applications]
    if any(operator is not None and (operator.scalar or operator.defined) for operator in operators):
        return True
    return _has_literals(rule) and not _has_parts(rule)


def rests_on_order(builder: Builder, rule: Rule) -> bool:
    """Whether an equation compares numbers: it has conditions, or maps the elements of which the greatest is taken."""
    operators = [builder.operator(term) for term in rule.applications]
    maps = [operator is not None and operator.elementwise for operator in operators]
    greatest = [operator is not None and operator.greatest for operator in operators]
    compares = any(maps) and any(greatest) and all(map(max, maps, greatest))
    return bool(rule.conditions) or (compares and not _has_parts(rule))


def rests_on_meanings(builder: Builder, rule: Rule) -> bool:
    """Whether an equation is proved from the meanings of its operators and not from axioms."""
    return is_scalar(builder, rule) or is_definitional(builder, rule)


def is_enumerated(builder: Builder, rule: Rule) -> bool:
    """Whether enumeration over residues may have found an equation: all of its operators take part in that."""
    operators = [builder.operator(term) for term in rule.applications]
    return not any(isinstance(term, Const) for term in rule.terms) and all(
        operator is not None and operator.is_enumerated for operator in operators
    )


def _has_literals(rule: Rule) -> bool:
    return any(isinstance(term, Const) and literal_value(term) is not None for term in rule.terms)


def _has_parts(rule: Rule) -> bool:
    return any(isinstance(term, Item) for term in rule.terms)
