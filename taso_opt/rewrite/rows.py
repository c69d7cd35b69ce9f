"""Rules that say a tensor to be itself with an axis of one row, taken away again: used only where a search asks."""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Var


def adds_a_row(rule: Rule) -> bool:
    """Whether a rule makes of any tensor itself, an axis added and taken away."""
    (source, *others), (target, *_) = rule.source, rule.target
    if others or not isinstance(source, Var) or not isinstance(target, Apply) or target.operator != "Squeeze":
        return False
    added = target.args[0]
    return isinstance(added, Apply) and added.operator == "Unsqueeze" and added.args == (source,)
