"""Finds every step that the rules allow on a graph: single rewrites and merges of any number of siblings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

from taso_opt.core.literal import literal_value
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Item, Term, is_constant, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.onnx_io import Model
from taso_opt.rewrite.finding.cuts import sliced, whole_cuts
from taso_opt.rewrite.finding.joins import whole_joins
from taso_opt.rewrite.finding.merges import Merges, Place
from taso_opt.rewrite.finding.step import Step, leaves_whole
from taso_opt.rewrite.finding.sums import sums
from taso_opt.rewrite.finding.together import Together
from taso_opt.rewrite.patterns.apply import Instantiation, substitute_terms
from taso_opt.rewrite.patterns.below import OperatorsBelow
from taso_opt.rewrite.patterns.elements import MAX_BINDINGS, Element, Entry, Found, element_pattern, fitting, joined
from taso_opt.rewrite.patterns.flattened import merges_rows_before
from taso_opt.rewrite.patterns.margins import margin_axis, margin_sizes, puts_zeros_beside
from taso_opt.rewrite.patterns.match import Binding, Matcher, ValueOf, Within, literal_within
from taso_opt.rewrite.patterns.pattern import CompiledRule, Fold
from taso_opt.rewrite.patterns.pixels import convolves_rows
from taso_opt.rewrite.patterns.rows import adds_a_row
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.ruleset.index import Outlines, RuleIndex, operator_name
from taso_opt.rewrite.ruleset.likeness import LikeIndex, Likeness
from taso_opt.rewrite.ruleset.uses import MERGING, SINGLE, Entries, Use
from taso_opt.rewrite.ruleset.views import FoundInViews, Views
from taso_opt.spec.builder import Builder

MAX_PAIRED = 6
"""Of how many operands a sum may be for every two of them to be looked at; of more, all that fit are joined at once."""

MOST_BRACKETED = 4
"""Of how many operands a sum or product may be for every three of them to be bracketed in every way."""


class Rewriter:
    """Matches a rule set against terms; what it learns about a term holds in every graph that contains it."""

    def __init__(
        self,
        builder: Builder,
        rules: RuleSet | CompiledRules,
        value_of: ValueOf = literal_value,
        within: Within = literal_within,
        leaves: Sequence[Term] = (),
    ) -> None:
        """For rules that ask: `value_of` tells the value of a constant of one element, `within` where others lie.

        What merges join stands in the order of the inputs and constants among the `leaves` that it descends from.
        """
        self._builder = builder
        self.is_constant = is_constant
        compiled = CompiledRules(rules, builder) if isinstance(rules, RuleSet) else rules

        def matcher(rule: CompiledRule) -> Matcher:
            return Matcher(builder, rule.private_sizes, value_of, within, self.is_constant)

        self._entries = Entries(compiled, matcher, self.is_recurrent)
        on_request = [(rule, matcher(rule)) for rule in compiled.on_request]
        self._margins = [entry for entry in on_request if puts_zeros_beside(entry[0].rule)]
        self._rows = [entry for entry in on_request if adds_a_row(entry[0].rule)]
        self._pixels = [entry for entry in on_request if convolves_rows(entry[0].rule)]
        self._flattened = [entry for entry in on_request if merges_rows_before(entry[0].rule)]
        self._likeness, self._below = Likeness(builder, self.is_constant), OperatorsBelow()
        self._views = Views(builder, self.is_constant)
        self._outlines = Outlines(builder.types, compiled.sizes)
        self._cells = self._rule_index(Use.CELL)
        self._cells_together = Together(builder, self._rule_index(Use.CELLS_TOGETHER))
        self._together = Together(builder, self._rule_index(Use.TOGETHER))
        self._seen, self._deep = self._rule_index(Use.SEEN), self._like_index(Use.DEEP)
        merging = self._rule_index(Use.MERGING_SEEN), self._like_index(Use.MERGING_DEEP)
        self._merges = Merges(builder, self.is_constant, self._views, *merging, leaves)
        self._undoing, self._folding = self._like_index(Use.UNDOING), self._like_index(Use.FOLDING)
        self._rewrites: dict[Term, tuple[Step, ...]] = {}
        self._viewed = FoundInViews(self._views, self._steps_not_upon)
        self._undone: dict[Term, Step | None] = {}
        self._folds: dict[tuple[Term, tuple[Term, ...]], tuple[Step, ...]] = {}
        self._summed: dict[Term, tuple[Found, ...]] = {}

    @classmethod
    def of_model(cls, model: Model, rules: RuleSet | CompiledRules) -> Rewriter:
        """The rewriter of a model's graph, which knows the values of its constants."""
        return cls(model.builder, rules, model.number, model.within, model.leaves)

    def _rule_index(self, use: Use) -> RuleIndex[Entry]:
        return RuleIndex(self._entries.of(use), element_pattern, self._outlines)

    def _like_index(self, use: Use) -> LikeIndex[Entry]:
        def fits(entry: Entry, term: Term) -> bool:
            return any(True for _ in entry[1].match(element_pattern(entry), term))

        return LikeIndex(self._rule_index(use), element_pattern, fits, self._likeness, self._below)

    @property
    def builder(self) -> Builder:
        """What makes terms over the operators that rules speak of."""
        return self._builder

    def _live(self, terms: Iterable[Term]) -> list[Term]:
        return [term for term in terms if not self.is_constant(term)]

    def look(self, term: Term) -> int:
        """A number that terms have in common whose operators, attributes and types agree some levels down."""
        return self._likeness.number(term)

    def kind(self, term: Term) -> int:
        """The same, in whichever order operands stand."""
        return self._likeness.kind(term)

    def folded(self, step: Step) -> list[Apply]:
        """The direct operands of what a step makes that combine constants, but for those that the term had before."""
        ((old, new),) = step.replacements
        combined = [one for one in new.children if isinstance(one, Apply) and self.is_constant(one)]
        return [one for one in combined if one not in old.children]

    def parts_weights(self, step: Step) -> bool:
        """Whether a step takes apart what is combined of constants already, so that this is no operand any more."""
        ((old, _),) = step.replacements
        combined = {one for one in old.children if isinstance(one, Apply) and self.is_constant(one)}
        return not leaves_whole(step, combined)

    def prepares_weights(self, term: Term) -> bool:
        """Whether a direct operand of a term comes from an operator that only weights go through."""
        operators = [self._builder.operator(child) for child in term.children if isinstance(child, Apply)]
        return any(operator is not None and operator.weights_only for operator in operators)

    def with_child(self, term: Term, old: Term, new: Term) -> Term:
        """The same node with one child replaced."""
        return self.with_children(term, [new if child is old else child for child in term.children])

    def with_children(self, term: Term, new: Sequence[Term]) -> Term:
        """The same node over other children."""
        return self._builder.rebuild(term, tuple(new))

    def with_zeros(self, term: Term, axis: int, behind: int) -> Step | None:
        """The step that takes a term for a slice of itself with zeros behind an axis; None if no rule says so."""
        for rule, matcher in self._margins:
            if margin_axis(rule) == axis:
                for binding in matcher.match(rule.source, term):
                    made = {**binding, **margin_sizes(rule, behind)}
                    (target,) = Instantiation(self._builder, rule, made, 0).targets()
                    return Step(rule, ((term, target),))
        return None

    def with_row(self, term: Term) -> Step | None:
        """The step that takes a term for itself with an axis of one row, taken away again; None if no rule says so."""
        return self._requested(self._rows, term)

    def with_pixels(self, term: Term) -> Step | None:
        """The step that takes a product for a convolution of its rows as pixels; None if no rule says so."""
        return self._requested(self._pixels, term)

    def with_merged_rows(self, term: Term) -> Step | None:
        """The step that merges rows before what a term merges the rows of; None if no rule says so."""
        return self._requested(self._flattened, term)

    def _requested(self, entries: Sequence[Entry], term: Term) -> Step | None:
        for rule, matcher in entries:
            for binding in matcher.match(rule.source, term):
                target = self._target(rule, binding, term)
                if target is not None:
                    return Step(rule, ((term, target),))
        return None

    def size(self, term: Term, axis: int) -> int | None:
        """The size of an axis counted from the end; None if there is none, or several terms, or it is not known."""
        types = self._builder.types(term)
        size = types[0].shape[axis] if len(types) == 1 and types[0].rank >= -axis else None
        return size if isinstance(size, int) else None

    def is_defined(self, term: Term) -> bool:
        """Whether the operator of a term has a definition, as normalizations have."""
        operator = self._builder.operator(term) if isinstance(term, Apply) else None
        return operator is not None and operator.defined

    def is_recurrent(self, term: Term) -> bool:
        """Whether the operator of a term goes through a sequence: it has a definition and gives states besides."""
        operator = self._builder.operator(term) if isinstance(term, Apply) else None
        return operator is not None and operator.defined and operator.outputs > 1

    def moves_data(self, term: Term) -> bool:
        """Whether a term has its elements from its operands, or is a leaf."""
        return self._builder.moves_data(term)

    def is_light(self, term: Term) -> bool:
        """Whether a term is computed element by element or has a definition."""
        operator = self._builder.operator(term) if isinstance(term, Apply) else None
        return operator is not None and (operator.elementwise or operator.defined)

    def replaced(self, term: Term, mapping: Mapping[Term, Term], without: Collection[Term] = ()) -> Term | None:
        """A term with every term of `mapping` in it replaced, as `substitute_terms` does; None when that is cyclic."""
        found = substitute_terms(self._builder, (term,), mapping, without)
        return None if found is None else found[0]

    def all_replaced(
        self, terms: Sequence[Term], mapping: Mapping[Term, Term], without: Collection[Term] = ()
    ) -> tuple[Term, ...] | None:
        """The same for several terms at once."""
        return substitute_terms(self._builder, terms, mapping, without)

    def candidates(self, term: Term) -> list[Entry]:
        """The rules about one term, and those that merge several, that could fit a term by its operator alone."""
        root = operator_name(term)
        return [entry for uses in (SINGLE, MERGING) for entry in self._entries.of_operator(root, uses)]

    def steps(self, terms: Sequence[Term]) -> Iterator[Step]:
        """Every step on a graph given by its terms, children before parents."""
        live = self._live(terms)
        for term in live:
            yield from self.rewrites(term)
        for whole, operands in self._sums(live):
            yield from self.sum_rewrites(whole, operands)
        yield from self.merges(terms, live)
        yield from self.cuts(terms)
        yield from self.together(terms)

    def merges(self, terms: Sequence[Term], live: Sequence[Term]) -> Iterator[Step]:
        """Every step on a graph that replaces several of its `live` terms together."""
        yield from self._merges.all(terms, live)

    def place(self, term: Term) -> Place:
        """What merges sort by what they join: its height, what it descends from, its weights, and itself."""
        return self._merges.place(term)

    def cuts(self, terms: Iterable[Term]) -> Iterator[Step]:
        """Every step on a graph that takes all slices of a tensor along an axis for the parts of one split."""
        yield from whole_cuts(self._live(terms), self._builder, self.rewrites)

    def sliced(self, part: Item) -> Step | None:
        """The step that takes a part of a split for a slice; None if no rule says so."""
        return sliced(part, self._builder, self.rewrites)

    def together(self, terms: Sequence[Term]) -> Iterator[Step]:
        """Every step on a graph that replaces several results at once of which one tells the others."""
        yield from self._together.all(terms, self._live(terms))

    def cells(self, terms: Sequence[Term]) -> Iterator[Step]:
        """Every step on a graph that says results as a recurrent operator, which they have not been.

        Such a step is none of `steps`: one cell alone gains nothing by it.
        """
        live = self._live(terms)
        yield from self._cells_together.all(terms, live)
        for term in live:
            yield from self._single_steps(term, self._cells)

    def sums(self, terms: Sequence[Term]) -> dict[Term, tuple[Apply, tuple[Term, ...]]]:
        """By each operand, the sum or product of three or more in a graph that it belongs to, and all operands."""
        live = self._live(terms)
        return {one: place for place in self._sums(live) for one in place[1]}

    def _sums(self, live: Sequence[Term]) -> Iterator[tuple[Apply, tuple[Term, ...]]]:
        """The sums and products with their operands in the order in which merges take these.

        So branches that are summed up are joined in the order in which those are that begin them.
        """
        for whole, operands in sums(self._builder, live):
            yield whole, tuple(sorted(operands, key=self.place))

    def sum_rewrites(self, whole: Apply, operands: tuple[Term, ...]) -> tuple[Step, ...]:
        """Every way to replace a sum of these operands, however they are bracketed."""
        place = whole, operands
        if place not in self._folds:
            found = (*self._fold_steps(*place), *self._pair_steps(*place), *self._bracketed_steps(*place))
            self._folds[place] = tuple({step.replacements: step for step in reversed(found)}.values())
        return self._folds[place]

    def rewrites(self, term: Term) -> tuple[Step, ...]:
        """Every way to replace this one term."""
        known = self._rewrites.get(term)
        if known is None:
            found: dict[Term, Step] = {}
            joined = whole_joins(term, self._builder, self.rewrites, self._likeness.kind)
            for step in (*self._viewed_steps(term), *self._single_steps(term, self._deep), *joined):
                found.setdefault(step.image, step)
            known = self._rewrites[term] = tuple(found.values())
        return known

    def _viewed_steps(self, term: Term) -> Iterator[Step]:
        """The steps by rules that see no more of a term than its view, found once for all terms of one view."""
        steps, images = self._viewed.at(term)
        for step in steps:
            new = self._views.brought_back(step.image, images)
            if new is not term:
                yield Step(step.rule, ((term, new),))

    def _steps_not_upon(self, term: Term) -> Iterator[Step]:
        """The same for a term itself; what stands on the term that it replaces can take no place in a graph."""
        for step in self._single_steps(term, self._seen):
            if term not in postorder([step.image]):
                yield step

    def undone(self, term: Term) -> Step | None:
        """The step that leaves a part of a term only, as where all parts of a split are joined; None if none does."""
        if term not in self._undone:
            self._undone[term] = next(self._single_steps(term, self._undoing), None)
        return self._undone[term]

    def _single_steps(self, term: Term, index: RuleIndex[Entry] | LikeIndex[Entry]) -> Iterator[Step]:
        seen = {term}
        for rule, matcher in index.candidates(term):
            for tried, binding in enumerate(matcher.match(rule.source, term)):
                if tried == MAX_BINDINGS:
                    break
                target = self._target(rule, binding, term)
                if target is not None and target not in seen:
                    seen.add(target)
                    yield Step(rule, ((term, target),))

    def _target(self, rule: CompiledRule, binding: Binding, term: Term) -> Term | None:
        """What a rule makes of a term; None where that is nothing, as of no elements, or of another type."""
        try:
            (target,) = Instantiation(self._builder, rule, binding, binding.get("#count", 0)).targets()
        except TypeMismatch:
            return None
        return target if self._builder.types(target) == self._builder.types(term) else None

    def _fold_steps(self, root: Apply, operands: tuple[Term, ...]) -> Iterator[Step]:
        """Every way to join those operands of a sum that a rule fits and that have in common what it shares."""
        groups: dict[tuple[int, Any], tuple[CompiledRule, dict[int, Element]]] = {}
        for at, operand in enumerate(operands):
            for rule, element in self._summed_by(operand):
                if isinstance(rule.source, Fold) and rule.source.operator == root.operator:
                    _, members = groups.setdefault((id(rule), element.shared), (rule, {}))
                    members.setdefault(at, element)
        for rule, members in groups.values():
            for chosen in self._to_join(members):
                targets = joined(self._builder, rule, [members[at] for at in chosen])
                if targets is not None:
                    others = [operand for at, operand in enumerate(operands) if at not in chosen]
                    yield from self._regrouped(rule, root, (*targets, *others))

    def _to_join(self, members: Mapping[int, Element]) -> Iterator[Collection[int]]:
        """Which operands of a sum to join: all that one rule fits, and of several kinds those of each."""
        kinds: dict[int, list[int]] = {}
        for at, element in members.items():
            kinds.setdefault(self._likeness.kind(element.term), []).append(at)
        groups = [members, *(kinds.values() if len(kinds) > 1 else ())]
        return (group for group in groups if len(group) > 1)

    def _summed_by(self, operand: Term) -> tuple[Found, ...]:
        """The rules that join operands of a sum which one of them fits; of constants there are none."""
        known = self._summed.get(operand)
        if known is None:
            found = () if self.is_constant(operand) else fitting(self._folding.candidates(operand), operand)
            known = self._summed[operand] = tuple(found)
        return known

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

    def _bracketed_steps(self, root: Apply, operands: tuple[Term, ...]) -> Iterator[Step]:
        """What rules about three operands, of which two are bracketed, make of any three in a short sum or product.

        As x (1/2 (1 + erf(x / sqrt 2))), whose definition has (x / 2) in brackets.
        """
        if len(operands) > MOST_BRACKETED:
            return
        for chosen in combinations(range(len(operands)), 3):
            others = [operand for at, operand in enumerate(operands) if at not in chosen]
            for last in chosen:
                pair = self._builder.apply(root.operator, tuple(operands[at] for at in chosen if at != last), {})
                for step in self.rewrites(self._builder.apply(root.operator, (pair, operands[last]), {})):
                    if not isinstance(step.image, Apply) or step.image.operator != root.operator:
                        yield from self._regrouped(step.rule, root, (step.image, *others))

    def _regrouped(self, rule: CompiledRule, root: Apply, operands: Sequence[Term]) -> Iterator[Step]:
        """The step that puts a sum of other operands in the place of one; none where it does not fit."""
        try:
            new = reduce(lambda x, y: self._builder.apply(root.operator, (x, y), {}), operands)
        except TypeMismatch:
            return
        if new is not root and self._builder.types(new) == self._builder.types(root):
            yield Step(rule, ((root, new),))
