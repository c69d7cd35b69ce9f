"""Rules that take the merging of all rows before a product or a sum with a row: used only where a search asks."""

from __future__ import annotations

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var

ROW_BY_ROW = ("Add", "MatMul")
ROWS_AND_MATRICES = 2
"""Of how many sizes the product tells how many rows there are."""


def merges_rows_before(rule: Rule) -> bool:
    """Whether a rule says, in either direction, that rows may be merged before what does the same to each of them."""
    if len(rule.source) != 1 or len(rule.target) != 1:
        return False
    (source,), (target,) = rule.source, rule.target
    return _is_before(source, target) or _is_before(target, source)


def _is_before(behind: Term, before: Term) -> bool:
    """Whether the first term merges the rows of a result, and the second those of an operand."""
    if not _is_merged(behind):
        return False
    (result,) = behind.children
    return (
        isinstance(result, Apply)
        and isinstance(before, Apply)
        and result.operator == before.operator
        and result.operator in ROW_BY_ROW
        and any(_is_merged(one) and isinstance(one.children[0], Var) for one in before.args)
        and all(isinstance(one, Var) for one in result.args)
    )


def _is_merged(term: Term) -> bool:
    """Whether a term is a matrix of all rows of several."""
    if not isinstance(term, Apply) or term.operator != "Reshape":
        return False
    shape = term.attribute("shape")
    rows = shape[0] if isinstance(shape, tuple) and shape else None
    return isinstance(rows, Size) and not rows.is_star and len(rows.symbols()) == ROWS_AND_MATRICES
