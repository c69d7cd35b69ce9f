"""Finds the sums and products of a graph, however their operands are bracketed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.patterns.lift import FOLDABLE
from taso_opt.spec.builder import Builder


def sums(builder: Builder, terms: Sequence[Term]) -> Iterator[tuple[Apply, tuple[Term, ...]]]:
    """Each sum or product of at least three operands in a graph, with its operands from left to right.

    A partial result belongs to the whole that it is an operand of when nothing else uses it and both have one type.
    """
    uses = Counter(child for term in terms for child in term.children)
    inner: set[Term] = set()
    for term in reversed(terms):  # users come before what they use
        if not isinstance(term, Apply) or term.operator not in FOLDABLE or term in inner:
            continue
        operands: list[Term] = []
        stack: list[Term] = list(reversed(term.args))
        while stack:
            operand = stack.pop()
            if _continues(builder, term, operand) and uses[operand] == 1:
                inner.add(operand)
                stack.extend(reversed(operand.children))
            else:
                operands.append(operand)
        if len(operands) > 2:
            yield term, tuple(operands)


def _continues(builder: Builder, whole: Apply, operand: Term) -> bool:
    same = isinstance(operand, Apply) and operand.operator == whole.operator
    return same and builder.types(operand) == builder.types(whole)
