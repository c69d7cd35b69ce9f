"""Merges: several terms of a graph that one rule replaces together, as products that share their weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from taso_opt.core.term import Apply, Item, Term
from taso_opt.rewrite.finding.step import Replacements, Step
from taso_opt.rewrite.patterns.elements import Element, Entry, Found, fitting, joined, private_terms
from taso_opt.rewrite.patterns.pattern import CompiledRule, joined_axis
from taso_opt.rewrite.ruleset.index import RuleIndex
from taso_opt.rewrite.ruleset.likeness import LikeIndex
from taso_opt.rewrite.ruleset.views import FoundInViews, Views
from taso_opt.spec.builder import Builder

Own: TypeAlias = tuple[int, ...]
"""Where the weights of a term stand among all leaves, before those of what it stands on: siblings may share some."""

MOST_OWN = 8
"""How many of them count."""

Standing: TypeAlias = tuple[int, int, Own, int]
Place: TypeAlias = tuple[int, int, Own, int, bytes]
"""What siblings are sorted by, as `Merges.place` tells: the standing of a term, and the term."""


class Merges:
    """Finds siblings and what replaces them; what it learns about a term holds in every graph that contains it."""

    def __init__(
        self,
        builder: Builder,
        is_constant: Callable[[Term], bool],
        views: Views,
        seen: RuleIndex[Entry],
        deep: LikeIndex[Entry],
        leaves: Sequence[Term] = (),
    ) -> None:
        """`seen` has the merging rules that see no more of a term than its view, `deep` the others.

        `leaves` are inputs and constants in the order in which siblings over them are to stand.
        """
        self._builder, self._is_constant, self._views = builder, is_constant, views
        self._deep = deep
        self._elements: dict[Term, tuple[Found, ...]] = {}
        self._viewed = FoundInViews(views, lambda term: fitting(seen.candidates(term), term))
        self._merged: dict[tuple[int, tuple[Term, ...]], Replacements | None] = {}
        self._places: dict[Term, Standing] = {leaf: (1, at, (at,), 1) for at, leaf in enumerate(leaves)}

    def all(self, terms: Sequence[Term], live: Sequence[Term]) -> Iterator[Step]:
        """Every merge in a graph, given its terms, children before parents, and those of them that take time."""
        groups: dict[tuple[int, Any], tuple[CompiledRule, list[Element]]] = {}
        for term in live:
            for rule, element in self._elements_of(term):
                _, members = groups.setdefault((id(rule), element.shared), (rule, []))
                if not members or members[-1].term is not term:
                    members.append(element)
        candidates = [(rule, members) for rule, members in groups.values() if len(members) > 1]
        needs = Dependencies(terms, (element.term for _, members in candidates for element in members))
        for rule, members in candidates:
            for siblings in self._siblings(members, needs):
                pairs = self._merge(rule, siblings)
                if pairs is not None:
                    yield Step(rule, pairs)

    def _siblings(self, members: list[Element], needs: Dependencies) -> Iterator[list[Element]]:
        if members[0].part is None:
            yield from map(self._in_order, needs.antichains(members))
            return
        parts = _all_parts(members)
        if parts is not None and len(next(needs.antichains(members), ())) == len(parts):
            yield parts

    def _in_order(self, siblings: list[Element]) -> list[Element]:
        """Siblings in the order of what they do not share: of parts of a split, of inputs, of weights.

        The order does not depend on where the siblings stand, so that merges at several places join the same operands
        in the same order, and joining the parts of a split undoes it.
        """
        return sorted(siblings, key=lambda element: [self.place(term) for term in private_terms(element)])

    def place(self, term: Term) -> Place:
        """How high a term stands, the place of what it descends from, those of its weights, its depth, and the term.

        The steps of an unrolled recurrence stand the higher the later they are, and what is computed of them ahead of
        time is the deeper; branches stand as their weights do.
        """
        stack = [] if term in self._places else [term]
        while stack:
            missing = [child for child in stack[-1].children if child not in self._places]
            if missing:
                stack.extend(missing)
            else:
                top = stack.pop()
                self._places[top] = self._place_above(top)
        return *self._places[term], term.digest

    def _place_above(self, term: Term) -> Standing:
        """The place of a term whose operands have theirs."""
        weights = [self._places[child][2] for child in term.children if self._is_constant(child)]
        below = [self._places[child] for child in term.children if not self._is_constant(child)]
        height = 1 + max((height for height, *_ in below), default=0)
        inherited = min((own for _, _, own, _ in below), default=() if weights else (len(self._places),))
        own = (*sorted(frozenset().union(*weights)), *inherited)[:MOST_OWN]
        origin = max((origin for _, origin, _, _ in below), default=own[0])
        cut = _where_cut(term)
        depth = 1 + max((self._places[child][-1] for child in term.children), default=0)
        return height, origin if cut is None else cut, own, depth

    def _elements_of(self, term: Term) -> tuple[Found, ...]:
        known = self._elements.get(term)
        if known is None:
            known = self._elements[term] = tuple(self._find_elements(term))
        return known

    def _find_elements(self, term: Term) -> Iterator[Found]:
        deep = fitting(self._deep.candidates(term), term)
        for rule, element in (*self._elements_in_view(term), *deep):
            if any(isinstance(value, Term) for _, value in element.shared):
                yield rule, element
            elif (part := _part_taken(rule, element)) is not None:
                yield rule, part

    def _elements_in_view(self, term: Term) -> Iterator[Found]:
        """What fits by rules that see no more of a term than its view, found once for all terms of one view."""
        elements, images = self._viewed.at(term)

        def own(value: Any) -> Any:
            return self._views.brought_back(value, images) if isinstance(value, Term) else value

        for rule, one in elements:
            shared = tuple((name, own(value)) for name, value in one.shared)
            yield rule, Element(term, {name: own(value) for name, value in one.binding.items()}, shared, one.part)

    def _merge(self, rule: CompiledRule, siblings: Sequence[Element]) -> Replacements | None:
        place = id(rule), tuple(element.term for element in siblings)
        if place not in self._merged:
            self._merged[place] = self._pairs(rule, siblings)
        return self._merged[place]

    def _pairs(self, rule: CompiledRule, siblings: Sequence[Element]) -> Replacements | None:
        targets = joined(self._builder, rule, siblings)
        if targets is None:
            return None
        pairs = tuple((element.term, target) for element, target in zip(siblings, targets, strict=True))
        if any(self._builder.types(old) != self._builder.types(new) or old is new for old, new in pairs):
            return None
        return pairs


class Dependencies:
    """Which of some marked terms each term needs, as bit masks over the marks."""

    def __init__(self, terms: Sequence[Term], marked: Iterable[Term]) -> None:
        self._bits = {term: 1 << at for at, term in enumerate(dict.fromkeys(marked))}
        self._below: dict[Term, int] = {}
        for term in terms:
            mask = 0
            for child in term.children:
                mask |= self._below[child] | self._bits.get(child, 0)
            self._below[term] = mask

    def antichains(self, members: Sequence[Element]) -> Iterator[list[Element]]:
        """Split siblings, given children before parents, into groups of which none needs another."""
        groups: list[tuple[list[Element], int]] = []
        for element in members:
            for at, (group, mask) in enumerate(groups):
                if not self._below[element.term] & mask:
                    group.append(element)
                    groups[at] = group, mask | self._bits[element.term]
                    break
            else:
                groups.append(([element], self._bits[element.term]))
        return (group for group, _ in groups if len(group) > 1)


def _where_cut(term: Term) -> int | None:
    """Where a part of a tensor begins, by the parts or elements before it; None of what is no part."""
    if isinstance(term, Item):
        return term.index
    sizes = term.attribute("sizes") if isinstance(term, Apply) and term.operator == "Slice" else None
    return sizes[0] if isinstance(sizes, tuple) and isinstance(sizes[0], int) else None


def _part_taken(rule: CompiledRule, element: Element) -> Element | None:
    """The element as one that shares a split: where its one operand is a part of it, along the axis of the merge.

    A merge of any two activations leads nowhere; one of the activations of all parts of a split undoes the split.
    """
    private = private_terms(element)
    if len(private) != 1 or not isinstance(private[0], Item):
        return None
    split = private[0].term
    if split.operator != "Split" or split.attribute("axis") != joined_axis(rule.target):
        return None
    shared = (*element.shared, ("#sizes", split.attribute("sizes")), ("#split", split))
    return replace(element, shared=shared, part=private[0].index)


def _all_parts(members: Sequence[Element]) -> list[Element] | None:
    """The siblings that take the parts of one split, in order, when every part is there."""
    parts = {element.part: element for element in members}
    sizes = dict(members[0].shared)["#sizes"]
    return [parts[at] for at in range(len(sizes))] if len(parts) == len(members) == len(sizes) else None
