"""Joins of many operands: what rules about a join of two say of them, taken again and again in one step.

Rules name two operands, or are lifted to any number that are alike. Parts of one tensor that stand side by side, and
joins inside of joins, are neither: of three each step would leave two, in another order of brackets. Nor can many sums
be matched in all of the ways in which the operands of each may stand: like is joined with like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from taso_opt.core.term import Apply, Item, Term, opened
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.finding.step import Step
from taso_opt.spec.builder import Builder

JOIN = "Concat"
Rewrites: TypeAlias = Callable[[Term], Sequence[Step]]
Kind: TypeAlias = Callable[[Term], int]
"""A number that terms of the same operators have in common."""


def whole_joins(term: Term, builder: Builder, rewrites: Rewrites, kind: Kind) -> Iterator[Step]:
    """The steps that leave a join without joins inside, without neighbours that are parts of one tensor, or of like."""
    if isinstance(term, Apply) and term.operator == JOIN:
        yield from _flat(term, builder, rewrites)
        if len(term.args) > 2:  # of two the rule itself speaks
            yield from _without_neighbours(term, builder, rewrites)
            yield from _without_splits(term, builder, rewrites)
            yield from _of_like(term, builder, rewrites, kind)


def _flat(term: Apply, builder: Builder, rewrites: Rewrites) -> Iterator[Step]:
    """The step that joins all at once what is joined in joins, by the rule that says so of two of three."""
    operands = opened(term, lambda one: _is_same_join(one, term))
    if len(operands) == len(term.args) or len(operands) < 4:  # of three the rule itself speaks
        return
    three = operands[:3]
    pair = _joined(term, (_joined(term, three[:2], builder), three[2]), builder)
    flat = _joined(term, three, builder)
    step = next((step for step in rewrites(pair) if step.image is flat), None)
    if step is not None:
        yield Step(step.rule, ((term, _joined(term, operands, builder)),))


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
            taken, operands[-1] = step, step.image
    if taken is not None:
        new = operands[0] if len(operands) == 1 else _joined(term, operands, builder)
        yield Step(taken.rule, ((term, new),))


def _meeting(join: Apply, one: Term, other: Term, builder: Builder, rewrites: Rewrites) -> Step | None:
    """The step that says two parts of one tensor, joined, as one part of it."""
    if not isinstance(one, Apply) or not isinstance(other, Apply):
        return None
    if one.operator != other.operator or one.args != other.args:
        return None
    steps = rewrites(_joined(join, (one, other), builder))
    return next((step for step in steps if step.image.children == one.args), None)


def _without_splits(term: Apply, builder: Builder, rewrites: Rewrites) -> Iterator[Step]:
    """The step that joins a tensor itself in a longer join, where that has all parts of it side by side."""
    for at, operand in enumerate(term.args):
        if isinstance(operand, Item) and operand.index == 0 and operand.term.operator == "Split":
            end = at + len(builder.types(operand.term))
            parts = term.args[at:end]
            whole = operand.term.args[0]
            if 1 < len(parts) < len(term.args):
                steps = rewrites(_joined(term, parts, builder))
                taken = next((step for step in steps if step.image is whole), None)
                if taken is not None:
                    new = _joined(term, (*term.args[:at], whole, *term.args[end:]), builder)
                    yield Step(taken.rule, ((term, new),))


def _of_like(term: Apply, builder: Builder, rewrites: Rewrites, kind: Kind) -> Iterator[Step]:
    """The step that says a join of sums, or of products, as one of two joins, each of operands of one kind."""
    found = [pair for operand in term.args if (pair := _in_order(operand, builder, kind)) is not None]
    if len(found) < len(term.args) or len({(name, kind(first), kind(second)) for name, first, second in found}) > 1:
        return
    name = found[0][0]
    try:
        columns = [_joined(term, column, builder) for column in zip(*(pair[1:] for pair in found), strict=True)]
        new, taken = builder.apply(name, columns, {}), None
        for at, one in enumerate(found[1:]):
            wanted = {_joined(term, both, builder) for both in zip(found[at][1:], one[1:], strict=True)}
            steps = rewrites(_joined(term, term.args[at : at + 2], builder))
            taken = next((step for step in steps if _operands_of(step.image, name) == wanted), None)
            if taken is None:
                return
    except TypeMismatch:
        return
    if taken is not None:
        yield Step(taken.rule, ((term, new),))


def _in_order(term: Term, builder: Builder, kind: Kind) -> tuple[str, Term, Term] | None:
    """A commutative operator and its two operands, of different kinds, in the order of these; None for any other."""
    operator = builder.operator(term) if isinstance(term, Apply) else None
    if not isinstance(term, Apply) or operator is None or not operator.commutative or len(term.args) != 2:
        return None
    first, second = sorted(term.args, key=kind)
    return (term.operator, first, second) if kind(first) != kind(second) else None


def _operands_of(term: Term, operator: str) -> set[Term]:
    return set(term.args) if isinstance(term, Apply) and term.operator == operator else set()


def _joined(like: Apply, operands: Sequence[Term], builder: Builder) -> Apply:
    return builder.apply(JOIN, operands, dict(like.attributes))
