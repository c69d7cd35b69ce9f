"""What rules make of one term, for sequences that lead terms to a form that they ask for."""

from __future__ import annotations

from taso_opt.core.term import Term
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.steps import Rewriter


class NoRuleError(Exception):
    """No rule says what is asked for."""


def steps_at(term: Term, rewriter: Rewriter) -> tuple[Step, ...]:
    """What a term undoes of its operands first, then all rewrites of it."""
    undone = rewriter.undone(term)
    return (*(() if undone is None else (undone,)), *rewriter.rewrites(term))
