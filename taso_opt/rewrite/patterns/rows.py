"""Rules that say a tensor to be itself with an axis of one row, taken away again: used only where a search asks."""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var

ROW = -2
"""Where the axis of the row is, counted from the end: before that of the columns."""


def adds_a_row(rule: Rule) -> bool:
    """Whether a rule makes of any tensor itself, an axis added and taken away."""
    (source, *others), (target, *_) = rule.source, rule.target
    return not others and isinstance(source, Var) and takes_a_row(target) and adds_row_to(target.children[0], source)


def takes_a_row(term: Term) -> bool:
    """Whether a term is another one without its only row."""
    return isinstance(term, Apply) and term.operator == "Squeeze" and term.attribute("axis") == ROW


def adds_row_to(term: Term, line: Term) -> bool:
    """Whether a term is a line with an axis of one row."""
    added = isinstance(term, Apply) and term.operator == "Unsqueeze" and term.attribute("axis") == ROW
    return added and term.children == (line,)
