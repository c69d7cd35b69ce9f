"""The pattern forms of a rule set; those of a rule are made when a term has all of its operators for the first time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, reduce
from operator import or_

from taso_opt.core.rule import Rule, RuleSet
from taso_opt.core.term import Apply, Term, Var
from taso_opt.rewrite.patterns.flattened import merges_rows_before
from taso_opt.rewrite.patterns.lift import FOLDABLE, compile_forms, compile_on_request
from taso_opt.rewrite.patterns.margins import puts_zeros_beside
from taso_opt.rewrite.patterns.pattern import CompiledRule, head
from taso_opt.rewrite.patterns.pixels import convolves_rows
from taso_opt.rewrite.patterns.rows import adds_a_row
from taso_opt.rewrite.ruleset.directions import composable, composed, useful
from taso_opt.rewrite.ruleset.index import asked_sizes, upper_operators
from taso_opt.spec.builder import Builder


class CompiledRules:
    """The pattern forms of a rule set, in every direction that can be matched; good for any builder of the library.

    One model has the operators of few rules out of thousands, so that compiling them all would be most of the work.
    """

    def __init__(self, rules: RuleSet, builder: Builder) -> None:
        self.rules = rules
        both_ways = [rule for rule in rules.both_ways() if not _is_on_request(rule)]
        parts = [rule for one in composable(both_ways) if (rule := useful(one, builder)) is not None]
        made = composed(parts, builder)
        self._directions = [_Direction(rule, builder) for rule in both_ways]
        self._directions += [_Direction(rule, builder, is_made=True) for rule in made]
        self.on_request = tuple(compile_on_request(rule, builder) for rule in rules.both_ways() if _is_on_request(rule))
        self.sizes = asked_sizes((*rules, *made))
        self._bits: dict[str, int] = {}
        self._by_root = self._sorted_by_root(self._directions)
        self._leaving_parts = self._sorted_by_root(
            [one for one in self._directions if any(isinstance(image, Var) for image in one.rule.target)]
        )

    def __iter__(self) -> Iterator[CompiledRule]:
        for direction in self._directions:
            yield from direction.forms
        yield from self.on_request

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def named(self, names: Collection[str]) -> Iterator[CompiledRule]:
        """The forms of the rules that have one of these names, in both directions; the others stay uncompiled."""
        for direction in self._directions:
            if direction.rule.name in names:
                yield from direction.forms
        yield from (form for form in self.on_request if form.rule.name in names)

    def may_match(self, root: str, operators: Iterable[str]) -> Iterator[CompiledRule]:
        """The forms that may match a term, by its operator and all of its upper operators; some others too."""
        return self._with_operators(self._by_root.get(root, ()), operators)

    def may_leave_part(self, root: str, operators: Iterable[str]) -> Iterator[CompiledRule]:
        """Those of them that may leave a part of the term only."""
        return self._with_operators(self._leaving_parts.get(root, ()), operators)

    def _with_operators(
        self, directions: Iterable[tuple[_Direction, int]], operators: Iterable[str]
    ) -> Iterator[CompiledRule]:
        missing = ~self._number(operators)
        for direction, asked in directions:
            if not asked & missing:
                yield from direction.forms

    def of_operator(self, root: str) -> Iterator[CompiledRule]:
        """The forms whose source begins with an operator, whatever stands below."""
        for direction, _ in self._by_root.get(root, ()):
            yield from (form for form in direction.forms if head(form.source) == root)

    def _sorted_by_root(self, directions: Iterable[_Direction]) -> dict[str, list[tuple[_Direction, int]]]:
        """Directions by the operator of what they match, with the upper operators that it must have."""
        found: dict[str, list[tuple[_Direction, int]]] = {}
        for direction in directions:
            for root, asked in self._asked(direction.rule.source).items():
                found.setdefault(root, []).append((direction, asked))
        return found

    def _asked(self, source: Iterable[Term]) -> dict[str, int]:
        """By the operator of what forms with this source match, the upper operators that it must have.

        What they match are the terms of the source, each of which may lead, or operands of sums and products.
        """
        found: dict[str, int] = {}
        for top in source:
            folds = isinstance(top, Apply) and top.operator in FOLDABLE
            for term in (top, *top.children) if folds else (top,):
                operators = list(upper_operators(term))
                if operators:
                    asked = self._number(operators)
                    found[operators[0]] = found.get(operators[0], asked) & asked
        return found

    def _number(self, operators: Iterable[str]) -> int:
        """Operators as the bits of a number."""
        return reduce(or_, (self._bits.setdefault(name, 1 << len(self._bits)) for name in operators), 0)


class _Direction:
    """A rule in one direction, as given or as made of others, which are useful."""

    def __init__(self, rule: Rule, builder: Builder, is_made: bool = False) -> None:
        self.rule, self._builder, self._is_made = rule, builder, is_made

    @cached_property
    def forms(self) -> tuple[CompiledRule, ...]:
        """The pattern forms that some operator begins; none where a search has no use for the rule."""
        rule = self.rule if self._is_made else useful(self.rule, self._builder)
        found = () if rule is None else compile_forms(rule, self._builder)
        return tuple(form for form in found if head(form.source) is not None)


def _is_on_request(rule: Rule) -> bool:
    """Whether a search says where a rule is used, which any tensor fits, and how many zeros stand beside it."""
    return puts_zeros_beside(rule) or adds_a_row(rule) or convolves_rows(rule) or merges_rows_before(rule)
