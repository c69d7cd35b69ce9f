"""Builds what a rule puts in place of a match, and substitutes it into a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any

from taso_opt.core.dims import Dim, Size, substitute, total
from taso_opt.core.literal import literal
from taso_opt.core.term import Attribute, Term
from taso_opt.rewrite.patterns.match import Binding, key, term_key
from taso_opt.rewrite.patterns.pattern import (
    Application,
    CompiledRule,
    Fold,
    Join,
    Literal,
    Output,
    Part,
    Pattern,
    Summed,
    Total,
    Variable,
)
from taso_opt.spec.builder import Builder

ALL = -1
"""The place of what is the same for all elements."""


class Instantiation:
    """The target of one compiled rule under one binding; TypeMismatch when it does not fit there."""

    def __init__(self, builder: Builder, rule: CompiledRule, binding: Binding, count: int) -> None:
        self._builder, self._rule, self._binding, self._count = builder, rule, binding, count
        self._shared: dict[tuple[int, int], Term] = {}

    def targets(self) -> list[Term]:
        """One term for each merged source, or the one term that replaces the match."""
        elements = range(self._count) if self._rule.merges else range(1)
        return [self._build(self._rule.target, element) for element in elements]

    def pairs(self, term: Term) -> tuple[tuple[Term, Term], ...]:
        """The term that a match was found at and the other terms that it tells of, each with what replaces it."""
        others = ((self._build(source, 0), self._build(target, 0)) for source, target in self._rule.others)
        return (term, self._build(self._rule.target, 0)), *others

    def _build(self, pattern: Pattern, element: int) -> Term:
        place = id(pattern), element  # the rule keeps its patterns alive; hashing one goes through all of it
        if place not in self._shared:
            self._shared[place] = self._construct(pattern, element)
        return self._shared[place]

    def _construct(self, pattern: Pattern, element: int) -> Term:
        match pattern:
            case Variable(name, _, _, private):
                term: Term = self._binding[term_key(name, private, element)]
                return term
            case Literal(value):
                return literal(value, self._binding["#dtype"])
            case Application(operator, args, attributes):
                operands = [self._build(argument, element) for argument in args]
                values = {name: self._attribute(value, element) for name, value in attributes}
                return self._builder.apply(operator, operands, values)
            case Output(inner, index):
                return self._builder.item(self._build(inner, element), index)
            case Join(inner, axis):
                return self._builder.apply("Concat", self._all(inner), {"axis": axis})
            case Fold(operator, inner):
                return reduce(lambda x, y: self._builder.apply(operator, (x, y), {}), self._all(inner))
            case Part():
                return self._builder.item(self._split(pattern), element)

    def _split(self, part: Part) -> Term:
        """What a part is a part of, made once for all elements."""
        place = id(part), ALL
        if place not in self._shared:
            sizes = tuple(self._size(part.size, at) for at in range(self._count))
            whole = self._build(part.inner, 0)
            self._shared[place] = self._builder.apply("Split", (whole,), {"axis": part.axis, "sizes": sizes})
        return self._shared[place]

    def _all(self, inner: Pattern) -> list[Term]:
        return [self._build(inner, element) for element in range(self._count)]

    def _attribute(self, value: Summed, element: int) -> Attribute:
        if isinstance(value, Total):
            return total(self._size(value.size, at) for at in range(self._count))
        if not isinstance(value, tuple):
            return self._size(value, element) if isinstance(value, Size) else value
        spliced: list[Attribute] = []
        for part in value:
            star = self._binding.get(part.symbol or "") if isinstance(part, Size) and part.is_star else None
            spliced.extend(star) if star is not None else spliced.append(self._attribute(part, element))
        return tuple(spliced)

    def _size(self, size: Dim, element: int) -> Dim:
        def replacement(name: str) -> Any:
            return self._binding.get(key(name, name in self._rule.private_sizes, element))

        return substitute(size, replacement)


def substitute_terms(
    builder: Builder, roots: Sequence[Term], mapping: Mapping[Term, Term], without: Collection[Term] = ()
) -> tuple[Term, ...] | None:
    """The roots with every term of `mapping` replaced by its image, inside images too; None when that is cyclic.

    Terms `without` any of those that are replaced, neither they nor what they are made of, are not looked into; nor are
    those that are no higher than any of them.

    A merge of two terms of which one needs the other would need itself: such a substitution is valid as an equation
    but no graph computes it (Figure 2.6 of the paper).
    """
    lowest = min((old.height for old in mapping), default=0)
    rebuilt: dict[Term, Term] = {}
    open_terms: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        term, ready = stack.pop()
        if ready:
            open_terms.discard(term)
            image = mapping.get(term)
            rebuilt[term] = rebuilt[image] if image is not None else _rebuild(builder, term, rebuilt)
            continue
        if term in rebuilt:
            continue
        if term in without or (term.height <= lowest and term not in mapping):
            rebuilt[term] = term
            continue
        if term in open_terms:
            return None
        open_terms.add(term)
        stack.append((term, True))
        image = mapping.get(term)
        following = term.children if image is None else (image,)
        for child in following:
            if child in open_terms:
                return None
            if child not in rebuilt:
                stack.append((child, False))
    return tuple(rebuilt[root] for root in roots)


def _rebuild(builder: Builder, term: Term, rebuilt: Mapping[Term, Term]) -> Term:
    old = term.children
    new = tuple(rebuilt[child] for child in old)
    return term if new == old else builder.rebuild(term, new)
