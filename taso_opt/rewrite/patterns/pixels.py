"""Rules that say a product to be a convolution, of rows as the pixels of images: used only where a search asks."""

from __future__ import annotations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term


def convolves_rows(rule: Rule) -> bool:
    """Whether a rule makes of a product, with a bias or without, a convolution whose pixels are the rows."""
    (source, *others), (target, *_) = rule.source, rule.target
    is_product = _is(source, "MatMul") or (_is(source, "Add") and any(_is(one, "MatMul") for one in source.children))
    while _is(target, "Transpose") or _is(target, "Reshape"):
        (target,) = target.children
    return not others and is_product and _is(target, "Conv")


def _is(term: Term, operator: str) -> bool:
    return isinstance(term, Apply) and term.operator == operator
