"""Rules about several results at once, as both states of a recurrent cell, found at the one that tells the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from taso_opt.core.term import Term
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.patterns.apply import Instantiation
from taso_opt.rewrite.patterns.elements import MAX_BINDINGS, Entry
from taso_opt.rewrite.ruleset.index import RuleIndex
from taso_opt.spec.builder import Builder


class Together:
    """Finds such results; what it learns about a term holds in every graph that contains it."""

    def __init__(self, builder: Builder, index: RuleIndex[Entry]) -> None:
        self._builder, self._index = builder, index
        self._found: dict[Term, tuple[Step, ...]] = {}

    def all(self, terms: Sequence[Term], live: Iterable[Term]) -> Iterator[Step]:
        """What replaces the results that a graph has, given its terms and those of them that take time.

        The result that tells the others comes first; where several do, one of them.
        """
        present, seen = frozenset(terms), set[frozenset[tuple[Term, Term]]]()
        for term in live:
            for step in self._at(term):
                here = {old: new for old, new in step.replacements if old in present and old is not new}
                if here and frozenset(here.items()) not in seen:
                    seen.add(frozenset(here.items()))
                    yield Step(step.rule, tuple(here.items()))

    def _at(self, term: Term) -> tuple[Step, ...]:
        known = self._found.get(term)
        if known is None:
            known = self._found[term] = tuple(self._find(term))
        return known

    def _find(self, term: Term) -> Iterator[Step]:
        for rule, matcher in self._index.candidates(term):
            for tried, binding in enumerate(matcher.match(rule.source, term)):
                if tried == MAX_BINDINGS:
                    break
                try:
                    pairs = Instantiation(self._builder, rule, binding, 0).pairs(term)
                except TypeMismatch:
                    continue
                if all(self._builder.types(old) == self._builder.types(new) for old, new in pairs):
                    yield Step(rule, pairs)
