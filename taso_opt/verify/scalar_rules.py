"""Tells the equations between scalar functions from those that are proved from axioms."""

from __future__ import annotations

from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Const, Item, postorder
from taso_opt.spec.builder import Builder


def is_scalar(builder: Builder, rule: Rule) -> bool:
    """Whether an equation is between element-wise expressions of which some operator is known on scalars only."""
    terms = postorder((*rule.source, *rule.target))
    operators = [builder.operator(term) for term in terms if isinstance(term, Apply)]
    if any(operator is None or not operator.elementwise for operator in operators) or not operators:
        return False
    special = any(operator is not None and operator.scalar for operator in operators)
    literals = any(isinstance(term, Const) and literal_value(term) is not None for term in terms)
    return (special or literals) and not any(isinstance(term, Item) for term in terms)
