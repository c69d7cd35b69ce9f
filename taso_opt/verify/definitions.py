"""Proves equations from the meanings of their operators alone: definitions, and what follows from two of them.

They hold operators of which no axiom speaks. Both sides as index functions have the same elements at all sizes.
"""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.spec.builder import Builder
from taso_opt.verify.index_functions.prove import prove_for_all_sizes
from taso_opt.verify.scalar_rules import rests_on_order
from taso_opt.verify.verdict import Unknown

ENGINE = "index functions"


def prove_definition(builder: Builder, rule: Rule) -> str | None:
    """None when both sides are equal at all sizes, else why no proof was found."""
    if rests_on_order(builder, rule) and any(_may_miss(builder, term) for term in postorder(rule.source)):
        return "a window between taps that are apart may have nothing of the image, and then no greatest element"
    answer = prove_for_all_sizes(builder, rule.source, rule.target, rule.conditions)
    return answer.reason if isinstance(answer, Unknown) else None


def _may_miss(builder: Builder, term: Term) -> bool:
    """Whether all taps of a window may lie in padding, as where the image is smaller than the dilation."""
    operator = builder.operator(term) if isinstance(term, Apply) else None
    if not isinstance(term, Apply) or operator is None or not operator.greatest:
        return False
    return term.attribute("dilations") != (1, 1) and term.attribute("pads") != (0, 0, 0, 0)
