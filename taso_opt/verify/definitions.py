"""Proves equations from the meanings of their operators alone: definitions, and what follows from two of them.

They hold operators of which no axiom speaks. Both sides as index functions have the same elements at all sizes. What is
computed may be taken out of a greatest element there, which is right only where windows have an element of the image.
"""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term
from taso_opt.spec.builder import Builder
from taso_opt.verify.index_functions.prove import prove_for_all_sizes
from taso_opt.verify.verdict import Unknown

ENGINE = "index functions"


def prove_definition(builder: Builder, rule: Rule) -> str | None:
    """None when both sides are equal at all sizes, else why no proof was found."""
    terms = rule.terms
    computes = any(not builder.moves_data(term) and not _takes_greatest(builder, term) for term in terms)
    if computes and any(_may_miss(builder, term) for term in terms):
        return "a window between taps that are apart may have nothing of the image, and then no greatest element"
    answer = prove_for_all_sizes(builder, rule.source, rule.target, rule.conditions)
    return answer.reason if isinstance(answer, Unknown) else None


def _may_miss(builder: Builder, term: Term) -> bool:
    """Whether all taps of a window may lie in padding, as where the image is smaller than the dilation."""
    if not isinstance(term, Apply) or not _takes_greatest(builder, term):
        return False
    return term.attribute("dilations") != (1, 1) and term.attribute("pads") != (0, 0, 0, 0)


def _takes_greatest(builder: Builder, term: Term) -> bool:
    operator = builder.operator(term) if isinstance(term, Apply) else None
    return operator is not None and operator.greatest
