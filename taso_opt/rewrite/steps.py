"""Finds every step that the rules allow on a graph: single rewrites and merges of any number of siblings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any, TypeAlias

from taso_opt.core.literal import literal_value
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Item, Term, children
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.apply import Instantiation, substitute_terms
from taso_opt.rewrite.index import RuleIndex
from taso_opt.rewrite.lift import compile_rules
from taso_opt.rewrite.likeness import LikeIndex, Likeness
from taso_opt.rewrite.match import Binding, Matcher, ValueOf, Within, literal_within
from taso_opt.rewrite.pattern import CompiledRule, Fold, Pattern, Variable, joined_axis
from taso_opt.rewrite.sums import sums
from taso_opt.spec.builder import Builder

MAX_BINDINGS = 16
"""How many ways of fitting one rule to one term are looked at; commutative operands multiply them."""

MAX_PAIRED = 6
"""Of how many operands a sum may be for every two of them to be looked at; of more, all that fit are joined at once."""

_Entry: TypeAlias = tuple[CompiledRule, Matcher]


@dataclass(frozen=True)
class Step:
    """One application of a rule: each source term and the term that replaces it."""

    rule: CompiledRule
    replacements: tuple[tuple[Term, Term], ...]

    @property
    def mapping(self) -> dict[Term, Term]:
        """The replacements as a dictionary."""
        return dict(self.replacements)


@dataclass(frozen=True)
class _Element:
    """One term that fits the source of a merge, with what it shares with its siblings."""

    term: Term
    binding: Binding
    shared: tuple[tuple[str, Any], ...]
    part: int | None


class Rewriter:
    """Matches a rule set against terms; what it learns about a term holds in every graph that contains it."""

    def __init__(
        self,
        builder: Builder,
        rules: RuleSet | Sequence[CompiledRule],
        value_of: ValueOf = literal_value,
        within: Within = literal_within,
    ) -> None:
        """For rules that ask: `value_of` tells the value of a constant of one element, `within` where others lie."""
        self._builder = builder
        compiled = compile_rules(rules, builder) if isinstance(rules, RuleSet) else rules
        matchers = [
            (rule, Matcher(builder, rule.private_sizes, value_of, within, self.is_constant)) for rule in compiled
        ]
        likeness = self._likeness = Likeness(builder, self.is_constant)

        def index(entries: Iterable[_Entry], pattern: Callable[[_Entry], Pattern]) -> LikeIndex[_Entry]:
            def fits(entry: _Entry, term: Term) -> bool:
                return any(True for _ in entry[1].match(pattern(entry), term))

            return LikeIndex(RuleIndex(entries, pattern), pattern, fits, likeness)

        single = [(rule, matcher) for rule, matcher in matchers if not rule.merges and not rule.folds]
        merging = [(rule, matcher) for rule, matcher in matchers if rule.merges]
        self._by_operator = RuleIndex(single, _source), RuleIndex(merging, _source)
        self._single, self._merging = index(single, _source), index(merging, _operand)
        self._undoing = index((entry for entry in matchers if isinstance(entry[0].target, Variable)), _source)
        self._folding = index((entry for entry in matchers if entry[0].folds), _operand)
        self._rewrites: dict[Term, tuple[Step, ...]] = {}
        self._undone: dict[Term, Step | None] = {}
        self._elements: dict[Term, tuple[tuple[CompiledRule, _Element], ...]] = {}
        self._merges: dict[tuple[int, tuple[Term, ...]], Step | None] = {}
        self._folds: dict[tuple[Term, tuple[Term, ...]], tuple[Step, ...]] = {}
        self._constant: dict[Term, bool] = {}
        self._places: dict[Term, tuple[int, int]] = {}

    def is_constant(self, term: Term) -> bool:
        """Whether a term depends on constants only, so that it costs nothing at run time."""
        known = self._constant.get(term)
        if known is None:
            parts = children(term)
            known = isinstance(term, Const) or (bool(parts) and all(self.is_constant(part) for part in parts))
            self._constant[term] = known
        return known

    def look(self, term: Term) -> int:
        """A number that terms have in common whose operators, attributes and types agree some levels down."""
        return self._likeness.number(term)

    def folds_constants(self, term: Term) -> bool:
        """Whether a direct operand of a term combines constants."""
        return any(isinstance(child, Apply) and self.is_constant(child) for child in children(term))

    def prepares_weights(self, term: Term) -> bool:
        """Whether a direct operand of a term comes from an operator that only weights go through."""
        operators = [self._builder.operator(child) for child in children(term) if isinstance(child, Apply)]
        return any(operator is not None and operator.weights_only for operator in operators)

    def with_child(self, term: Term, old: Term, new: Term) -> Term:
        """The same node with one child replaced."""
        return self._builder.rebuild(term, tuple(new if child is old else child for child in children(term)))

    def is_light(self, term: Term) -> bool:
        """Whether a term is computed element by element or has a definition, as normalizations have."""
        operator = self._builder.operator(term) if isinstance(term, Apply) else None
        return operator is not None and (operator.elementwise or operator.defined)

    def replaced(self, term: Term, mapping: Mapping[Term, Term]) -> Term | None:
        """A term with every term of `mapping` in it replaced, inside images too; None when that is cyclic."""
        found = substitute_terms(self._builder, (term,), mapping)
        return None if found is None else found[0]

    def candidates(self, term: Term) -> list[tuple[CompiledRule, Matcher]]:
        """The rules that could fit a term by its operator alone, each with its matcher."""
        return [entry for index in self._by_operator for entry in index.of_operator(term)]

    def steps(self, terms: Sequence[Term]) -> Iterator[Step]:
        """Every step on a graph given by its terms, children before parents."""
        live = [term for term in terms if not self.is_constant(term)]
        for term in live:
            yield from self.rewrites(term)
        for whole, operands in sums(self._builder, live):
            yield from self.sum_rewrites(whole, operands)
        yield from self._merge_steps(terms, live)

    def sums(self, terms: Sequence[Term]) -> dict[Term, tuple[Apply, tuple[Term, ...]]]:
        """By each operand, the sum or product of three or more in a graph that it belongs to, and all operands."""
        live = [term for term in terms if not self.is_constant(term)]
        return {one: place for place in sums(self._builder, live) for one in place[1]}

    def sum_rewrites(self, whole: Apply, operands: tuple[Term, ...]) -> tuple[Step, ...]:
        """Every way to replace a sum of these operands, however they are bracketed."""
        place = whole, operands
        if place not in self._folds:
            found = (*self._fold_steps(*place), *self._pair_steps(*place))
            self._folds[place] = tuple({step.replacements: step for step in reversed(found)}.values())
        return self._folds[place]

    def rewrites(self, term: Term) -> tuple[Step, ...]:
        """Every way to replace this one term."""
        known = self._rewrites.get(term)
        if known is None:
            known = tuple(self._single_steps(term, self._single))
            self._rewrites[term] = known
        return known

    def undone(self, term: Term) -> Step | None:
        """The step that leaves a part of a term only, as where all parts of a split are joined; None if none does."""
        if term not in self._undone:
            self._undone[term] = next(self._single_steps(term, self._undoing), None)
        return self._undone[term]

    def _single_steps(self, term: Term, index: LikeIndex[_Entry]) -> Iterator[Step]:
        seen = {term}
        for rule, matcher in index.candidates(term):
            for tried, binding in enumerate(matcher.match(rule.source, term)):
                if tried == MAX_BINDINGS:
                    break
                try:
                    (target,) = Instantiation(self._builder, rule, binding, binding.get("#count", 0)).targets()
                except TypeMismatch:
                    continue
                if target not in seen and self._builder.types(target) == self._builder.types(term):
                    seen.add(target)
                    yield Step(rule, ((term, target),))

    def _fold_steps(self, root: Apply, operands: tuple[Term, ...]) -> Iterator[Step]:
        """Every way to join those operands of a sum that a rule fits and that have in common what it shares."""
        groups: dict[tuple[int, Any], tuple[CompiledRule, dict[int, _Element]]] = {}
        for at, operand in enumerate(operands):
            if self.is_constant(operand):
                continue
            for rule, element in self._fitting(self._folding.candidates(operand), operand):
                if isinstance(rule.source, Fold) and rule.source.operator == root.operator:
                    _, members = groups.setdefault((id(rule), element.shared), (rule, {}))
                    members.setdefault(at, element)
        for rule, members in groups.values():
            targets = self._joined(rule, list(members.values())) if len(members) > 1 else None
            if targets is not None:
                others = [operand for at, operand in enumerate(operands) if at not in members]
                yield from self._regrouped(rule, root, (*targets, *others))

    def _pair_steps(self, root: Apply, operands: tuple[Term, ...]) -> Iterator[Step]:
        """What rules about a sum of two make of any two operands of a longer one."""
        if len(operands) > MAX_PAIRED:
            return
        for first, second in combinations(range(len(operands)), 2):
            pair = self._builder.apply(root.operator, (operands[first], operands[second]), {})
            others = [operand for at, operand in enumerate(operands) if at not in (first, second)]
            for step in self.rewrites(pair):
                ((_, target),) = step.replacements
                if not isinstance(target, Apply) or target.operator != root.operator:
                    yield from self._regrouped(step.rule, root, (target, *others))

    def _regrouped(self, rule: CompiledRule, root: Apply, operands: Sequence[Term]) -> Iterator[Step]:
        """The step that puts a sum of other operands in the place of one; none where it does not fit."""
        try:
            new = reduce(lambda x, y: self._builder.apply(root.operator, (x, y), {}), operands)
        except TypeMismatch:
            return
        if new is not root and self._builder.types(new) == self._builder.types(root):
            yield Step(rule, ((root, new),))

    def _merge_steps(self, terms: Sequence[Term], live: Sequence[Term]) -> Iterator[Step]:
        groups: dict[tuple[int, Any], tuple[CompiledRule, list[_Element]]] = {}
        for term in live:
            for rule, element in self._elements_of(term):
                _, members = groups.setdefault((id(rule), element.shared), (rule, []))
                if not members or members[-1].term is not term:
                    members.append(element)
        candidates = [(rule, members) for rule, members in groups.values() if len(members) > 1]
        needs = _Dependencies(terms, (element.term for _, members in candidates for element in members))
        for rule, members in candidates:
            for siblings in self._siblings(members, needs):
                step = self._merge(rule, siblings)
                if step is not None:
                    yield step

    def _siblings(self, members: list[_Element], needs: _Dependencies) -> Iterator[list[_Element]]:
        if members[0].part is None:
            yield from map(self._in_order, needs.antichains(members))
            return
        parts = _all_parts(members)
        if parts is not None:
            yield parts

    def _in_order(self, siblings: list[_Element]) -> list[_Element]:
        """Siblings in the order of what they do not share: of parts of a split, of inputs, of weights.

        The order does not depend on where the siblings stand, so that merges at several places join the same operands
        in the same order, and joining the parts of a split undoes it.
        """
        return sorted(siblings, key=lambda element: [self._place(term) for term in _private_terms(element)])

    def _place(self, term: Term) -> tuple[int, int, bytes]:
        """How high a term stands, the place of the part or input that it descends from, and the term itself for ties.

        The steps of an unrolled recurrence stand the higher the later they are.
        """
        stack = [] if term in self._places else [term]
        while stack:
            top = stack[-1]
            below = [child for child in children(top) if not self.is_constant(child)]
            missing = [child for child in below if child not in self._places]
            if missing:
                stack.extend(missing)
                continue
            height = 1 + max((self._places[child][0] for child in below), default=0)
            origin = max((self._places[child][1] for child in below), default=len(self._places))
            self._places[stack.pop()] = height, top.index if isinstance(top, Item) else origin
        return *self._places[term], term.digest

    def _elements_of(self, term: Term) -> tuple[tuple[CompiledRule, _Element], ...]:
        known = self._elements.get(term)
        if known is None:
            known = tuple(self._find_elements(term))
            self._elements[term] = known
        return known

    def _find_elements(self, term: Term) -> Iterator[tuple[CompiledRule, _Element]]:
        for rule, element in self._fitting(self._merging.candidates(term), term):
            if any(isinstance(value, Term) for _, value in element.shared):
                yield rule, element
            elif (part := _part_taken(rule, element)) is not None:
                yield rule, part

    def _fitting(
        self, candidates: Iterable[tuple[CompiledRule, Matcher]], term: Term
    ) -> Iterator[tuple[CompiledRule, _Element]]:
        """The rules of which an element fits the term, with what such terms must share to be siblings."""
        for rule, matcher in candidates:
            for tried, binding in enumerate(matcher.match(_operand((rule, matcher)), term)):
                if tried == MAX_BINDINGS:
                    break
                shared = [(name, value) for name, value in binding.items() if not _is_private(name) and name != "#owed"]
                yield rule, _Element(term, binding, tuple(sorted(shared, key=_name)), binding.get("#part@0"))

    def _merge(self, rule: CompiledRule, siblings: Sequence[_Element]) -> Step | None:
        place = id(rule), tuple(element.term for element in siblings)
        if place not in self._merges:
            self._merges[place] = self._merged(rule, siblings)
        return self._merges[place]

    def _merged(self, rule: CompiledRule, siblings: Sequence[_Element]) -> Step | None:
        targets = self._joined(rule, siblings)
        if targets is None:
            return None
        pairs = tuple((element.term, target) for element, target in zip(siblings, targets, strict=True))
        if any(self._builder.types(old) != self._builder.types(new) or old is new for old, new in pairs):
            return None
        return Step(rule, pairs)

    def _joined(self, rule: CompiledRule, elements: Sequence[_Element]) -> list[Term] | None:
        """The targets of a rule for these elements taken together, None when they do not fit each other."""
        binding: dict[str, Any] = dict(elements[0].shared)
        for at, element in enumerate(elements):
            for name, value in element.binding.items():
                if _is_private(name):
                    binding[f"{name[:-2]}@{at}"] = value
        try:
            return Instantiation(self._builder, rule, binding, len(elements)).targets()
        except TypeMismatch:
            return None


class _Dependencies:
    """Which of some marked terms each term needs, as bit masks over the marks."""

    def __init__(self, terms: Sequence[Term], marked: Iterable[Term]) -> None:
        self._bits = {term: 1 << at for at, term in enumerate(dict.fromkeys(marked))}
        self._below: dict[Term, int] = {}
        for term in terms:
            mask = 0
            for child in children(term):
                mask |= self._below[child] | self._bits.get(child, 0)
            self._below[term] = mask

    def antichains(self, members: Sequence[_Element]) -> Iterator[list[_Element]]:
        """Split siblings, given children before parents, into groups of which none needs another."""
        groups: list[tuple[list[_Element], int]] = []
        for element in members:
            for at, (group, mask) in enumerate(groups):
                if not self._below[element.term] & mask:
                    group.append(element)
                    groups[at] = group, mask | self._bits[element.term]
                    break
            else:
                groups.append(([element], self._bits[element.term]))
        return (group for group, _ in groups if len(group) > 1)


def _part_taken(rule: CompiledRule, element: _Element) -> _Element | None:
    """The element as one that shares a split: where its one operand is a part of it, along the axis of the merge.

    A merge of any two activations leads nowhere; one of the activations of all parts of a split undoes the split.
    """
    private = _private_terms(element)
    if len(private) != 1 or not isinstance(private[0], Item):
        return None
    split = private[0].term
    if split.operator != "Split" or split.attribute("axis") != joined_axis(rule.target):
        return None
    shared = (*element.shared, ("#sizes", split.attribute("sizes")), ("#split", split))
    return replace(element, shared=shared, part=private[0].index)


def _all_parts(members: Sequence[_Element]) -> list[_Element] | None:
    """The siblings that take the parts of one split, in order, when every part is there."""
    parts = {element.part: element for element in members}
    sizes = dict(members[0].shared)["#sizes"]
    return [parts[at] for at in range(len(sizes))] if len(parts) == len(members) == len(sizes) else None


def _private_terms(element: _Element) -> list[Term]:
    private = [(name, value) for name, value in element.binding.items() if _is_private(name)]
    return [value for _, value in sorted(private, key=_name) if hasattr(value, "digest")]


def _operand(entry: tuple[CompiledRule, Matcher]) -> Pattern:
    """The pattern of one element: an operand of a fold, or the whole source."""
    source = entry[0].source
    return source.inner if isinstance(source, Fold) else source


def _source(entry: tuple[CompiledRule, Matcher]) -> Pattern:
    return entry[0].source


def _is_private(name: str) -> bool:
    return name.endswith("@0")


def _name(entry: tuple[str, Any]) -> str:
    return entry[0]
