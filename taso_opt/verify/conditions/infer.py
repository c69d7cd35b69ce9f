"""Finds under which conditions on values an equation holds that is not true in general, the weakest first.

A slope of at most 1, a scale that is not negative: such conditions are asked of constants of a model, so at least one
variable is left that may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import prod

from taso_opt.core.condition import ALL_BOUNDS, Condition, weaker
from taso_opt.core.rule import Rule
from taso_opt.core.term import Item
from taso_opt.spec.builder import Builder
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.evaluation.refute import refute, refute_in_numbers
from taso_opt.verify.scalar_rules import is_scalar
from taso_opt.verify.scalars import prove_scalars
from taso_opt.verify.verdict import Counterexample

MOST_CONDITIONS = 2
MOST_ELEMENTS = 2**12
MOST_VARIABLES = 4
"""Rules about more variables are not looked into: every pair of them has 36 pairs of conditions."""


def inferred(builder: Builder, rule: Rule) -> Rule | None:
    """The rule under the weakest conditions that make it true, None when none of those known does."""
    if rule.conditions or not _compares_elements(builder, rule) or not _is_cheap(rule):
        return None
    if not isinstance(refute_in_numbers(builder, rule), Counterexample):
        return None  # it may well be true, and only the proof is missing
    return next((one for one in _conditioned(rule) if holds_under_conditions(builder, one)), None)


def weakest(builder: Builder, rule: Rule) -> Rule:
    """A rule that holds under its conditions, under conditions none of which can be dropped or be weaker."""
    for condition in rule.conditions:
        others = [other for other in rule.conditions if other != condition]
        wider = [rule.under(others)] if others else []
        wider += [rule.under([*others, Condition(condition.variable, one)]) for one in weaker(condition.bounds)]
        for form in wider:
            if holds_under_conditions(builder, form):
                return weakest(builder, form)
    return rule


def holds_under_conditions(builder: Builder, rule: Rule) -> bool:
    """Whether a rule with conditions is proved from the meanings of its operators, and evaluation agrees."""
    evaluated = refute(builder, rule)
    if isinstance(evaluated, Counterexample) or not evaluated:
        return False
    prove = prove_scalars if is_scalar(builder, rule) else prove_definition
    return prove(builder, rule) is None


def _is_cheap(rule: Rule) -> bool:
    """Whether no tensor is large by literal sizes: a rule is evaluated a hundred times over."""
    sizes = ([dim for dim in variable.type.shape if isinstance(dim, int)] for variable in rule.variables)
    return all(prod(each) <= MOST_ELEMENTS for each in sizes)


def _conditioned(rule: Rule) -> Iterator[Rule]:
    names = sorted(variable.name for variable in rule.variables)
    if len(names) > MOST_VARIABLES:
        return
    for count in range(1, min(MOST_CONDITIONS, len(names) - 1) + 1):
        for bounds in product(ALL_BOUNDS, repeat=count):
            for chosen in combinations(names, count):
                yield rule.under(map(Condition, chosen, bounds))


def _compares_elements(builder: Builder, rule: Rule) -> bool:
    """Whether all operators compute element by element, or take the greatest: order says nothing of others."""
    operators = [builder.operator(term) for term in rule.applications]
    known = all(operator is not None and (operator.elementwise or operator.greatest) for operator in operators)
    return known and not any(isinstance(term, Item) for term in rule.terms)
