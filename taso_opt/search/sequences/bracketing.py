"""Sequences of steps that multiply a product of three in the other order, past what stands between.

As (s (Q K)) V = s (Q (K V)), which takes a small part of the multiplications where Q has many rows. Moving the scale
out of the way gains nothing by itself, and where the runtime scales on the way it costs more than alpha allows; and so
may saying that rows are divided as that they are scaled by reciprocals, which is how these get out of the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.finding.step import Step, StepSequence, operators_saved
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.lookahead import IsHopeless, looked_ahead

PRODUCT, SCALES = "MatMul", frozenset({"Div", "Mul"})

MOST_BETWEEN = 3
"""How many operators lead from one product down to the other, that one included."""


def bracketed(terms: Iterable[Term], rewriter: Rewriter, is_hopeless: IsHopeless) -> Iterator[StepSequence]:
    """The sequences at those of some terms that are products with another product below, both without weights.

    With weights they are combined before the model runs, which other sequences do.
    """
    steps_in = partial(_steps, rewriter=rewriter)
    for term in terms:
        if _multiplies_values(term, rewriter):
            _, *below = _down_to_products(term, rewriter)
            if any(_multiplies_values(one, rewriter) for one in below):
                yield from looked_ahead(term, steps_in, brackets_anew, _goes_on, rewriter, is_hopeless)


def brackets_anew(step: Step) -> bool:
    """Whether a step makes a product of a product out of another one, with a new one inside."""
    inside_old, inside_new = (_products_in(one) for one in (step.root, step.image))
    return bool(inside_old) and bool(inside_new - inside_old - {step.root})


def _goes_on(step: Step) -> bool:
    return operators_saved(step) >= -1 and not brackets_anew(step)


def _steps(spelled: Term, rewriter: Rewriter) -> Iterator[Step]:
    for term in _down_to_products(spelled, rewriter):
        yield from rewriter.rewrites(term)


def _down_to_products(root: Term, rewriter: Rewriter) -> list[Term]:
    """A term with what leads from it down to the next products, these included."""
    found: dict[Term, None] = {root: None}
    level = [root]
    for _ in range(MOST_BETWEEN):
        below = [one for term in level for one in term.children if not rewriter.is_constant(one)]
        level = [one for one in below if one not in found and _leads_on(one, rewriter)]
        found.update(dict.fromkeys(level))
        level = [one for one in level if not _is_product(one)]
    return list(found)


def _leads_on(term: Term, rewriter: Rewriter) -> bool:
    """Whether a term is a product, or scales all or each row of what stands below, or moves it."""
    if not isinstance(term, Apply):
        return False
    scales = term.operator in SCALES and any(_is_scale(one, rewriter) for one in term.args)
    return _is_product(term) or scales or rewriter.moves_data(term)


def _is_scale(term: Term, rewriter: Rewriter) -> bool:
    return rewriter.is_constant(term) or rewriter.size(term, -1) == 1


def _multiplies_values(term: Term, rewriter: Rewriter) -> bool:
    return _is_product(term) and not any(map(rewriter.is_constant, term.children))


def _products_in(term: Term) -> frozenset[Term]:
    """The operands of a product that are products; none of anything else."""
    return frozenset(filter(_is_product, term.children)) if _is_product(term) else frozenset()


def _is_product(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == PRODUCT
