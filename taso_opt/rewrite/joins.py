"""Joins of many operands: what rules about a join of two say of them, taken again and again in one step.

Rules name two operands, or are lifted to any number that are alike. Parts of one tensor that stand side by side, and
joins inside of joins, are neither: of three each step would leave two, in another order of brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from taso_opt.core.term import Apply, Term
from taso_opt.spec.builder import Builder

if TYPE_CHECKING:
    from taso_opt.rewrite.steps import Step

JOIN = "Concat"
Rewrites: TypeAlias = "Callable[[Term], Sequence[Step]]"


def whole_joins(term: Term, builder: Builder, rewrites: Rewrites) -> Iterator[Step]:
    """The steps that leave a join without joins inside, or without neighbours that are parts of one tensor."""
    if isinstance(term, Apply) and term.operator == JOIN:
        yield from _flat(term, builder, rewrites)
        if len(term.args) > 2:  # of two the rule itself speaks
            yield from _without_neighbours(term, builder, rewrites)


def _flat(term: Apply, builder: Builder, rewrites: Rewrites) -> Iterator[Step]:
    """The step that joins all at once what is joined in joins, by the rule that says so of two of three."""
    operands = _operands(term)
    if len(operands) == len(term.args) or len(operands) < 4:  # of three the rule itself speaks
        return
    three = operands[:3]
    pair = _joined(term, (_joined(term, three[:2], builder), three[2]), builder)
    flat = _joined(term, three, builder)
    step = next((step for step in rewrites(pair) if step.replacements[0][1] is flat), None)
    if step is not None:
        yield type(step)(step.rule, ((term, _joined(term, operands, builder)),))


def _operands(term: Apply) -> list[Term]:
    """All that a join joins, in joins inside of it as well."""
    found: list[Term] = []
    stack = list(reversed(term.args))
    while stack:
        top = stack.pop()
        if isinstance(top, Apply) and _is_same_join(top, term):
            stack.extend(reversed(top.args))
        else:
            found.append(top)
    return found


def _is_same_join(term: Term, join: Apply) -> bool:
    return isinstance(term, Apply) and term.operator == JOIN and term.attributes == join.attributes


def _without_neighbours(term: Apply, builder: Builder, rewrites: Rewrites) -> Iterator[Step]:
    """The step that joins neighbours of a longer join where they are parts of one tensor."""
    operands, taken = [term.args[0]], None
    for operand in term.args[1:]:
        step = _meeting(term, operands[-1], operand, builder, rewrites)
        if step is None:
            operands.append(operand)
        else:
            taken, operands[-1] = step, step.replacements[0][1]
    if taken is not None:
        new = operands[0] if len(operands) == 1 else _joined(term, operands, builder)
        yield type(taken)(taken.rule, ((term, new),))


def _meeting(join: Apply, one: Term, other: Term, builder: Builder, rewrites: Rewrites) -> Step | None:
    """The step that says two parts of one tensor, joined, as one part of it."""
    if not isinstance(one, Apply) or not isinstance(other, Apply):
        return None
    if one.operator != other.operator or one.args != other.args:
        return None
    steps = rewrites(_joined(join, (one, other), builder))
    return next((step for step in steps if step.replacements[0][1].children == one.args), None)


def _joined(like: Apply, operands: Sequence[Term], builder: Builder) -> Apply:
    return builder.apply(JOIN, operands, dict(like.attributes))
