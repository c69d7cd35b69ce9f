"""Proves equations from the meanings of their operators alone: definitions, and what follows from two of them.

They hold operators of which no axiom speaks. Both sides as index functions have the same elements at all sizes.
"""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.spec.builder import Builder
from taso_opt.verify.index_functions.prove import prove_for_all_sizes
from taso_opt.verify.verdict import Unknown

ENGINE = "index functions"


def prove_definition(builder: Builder, rule: Rule) -> str | None:
    """None when both sides are equal at all sizes, else why no proof was found."""
    answer = prove_for_all_sizes(builder, rule.source, rule.target)
    return answer.reason if isinstance(answer, Unknown) else None
