"""Sorts the forms of rules by what the rewriter uses them for, as far as they may match what it meets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum, auto

from taso_opt.core.term import Term, postorder
from taso_opt.rewrite.patterns.elements import Entry, element_pattern
from taso_opt.rewrite.patterns.match import Matcher
from taso_opt.rewrite.patterns.pattern import CompiledRule, Variable
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.ruleset.index import Outline, operators_of
from taso_opt.rewrite.ruleset.views import is_seen_in_views


class Use(Enum):
    """What a form of a rule is used for."""

    SEEN = auto()
    """To replace one term, of which it sees no more than a view."""
    DEEP = auto()
    """To replace one term, looking deeper."""
    MERGING_SEEN = auto()
    """To merge several terms, of which it sees no more than their views."""
    MERGING_DEEP = auto()
    """To merge several terms, looking deeper."""
    FOLDING = auto()
    """To join operands of a sum or product."""
    TOGETHER = auto()
    """To replace several results at once."""
    CELL = auto()
    """To say one result as a recurrent operator, which it has not been."""
    CELLS_TOGETHER = auto()
    """To say several results at once so."""
    UNDOING = auto()
    """To leave a part of a term only."""


SINGLE = (Use.SEEN, Use.DEEP)
MERGING = (Use.MERGING_SEEN, Use.MERGING_DEEP)


class Entries:
    """The forms of a rule set, each with its matcher, by use and by the outlines of terms that they may match."""

    def __init__(
        self, rules: CompiledRules, matcher: Callable[[CompiledRule], Matcher], is_recurrent: Callable[[Term], bool]
    ) -> None:
        self._rules, self._matcher, self._is_recurrent = rules, matcher, is_recurrent
        self._known: dict[int, tuple[Entry, frozenset[Use]]] = {}
        self._found: dict[Outline, Mapping[Use, Sequence[Entry]]] = {}

    def of(self, use: Use) -> Callable[[Outline], Sequence[Entry]]:
        """What tells the entries of one use for an outline, in the order of the rules."""
        return self._leaving_part if use is Use.UNDOING else lambda outline: self._at(outline).get(use, ())

    def of_operator(self, root: str, uses: Collection[Use]) -> list[Entry]:
        """The entries of some uses whose source begins with an operator."""
        found = map(self._entry, self._rules.of_operator(root))
        return [entry for entry, have in found if not have.isdisjoint(uses)]

    def _at(self, outline: Outline) -> Mapping[Use, Sequence[Entry]]:
        known = self._found.get(outline)
        if known is None:
            found: dict[Use, list[Entry]] = {}
            for form in self._rules.may_match(outline.operator, operators_of(outline)):
                entry, uses = self._entry(form)
                for use in uses:
                    found.setdefault(use, []).append(entry)
            known = self._found[outline] = found
        return known

    def _leaving_part(self, outline: Outline) -> Sequence[Entry]:
        """Those that leave a part of a term only: few, and asked for of all terms that any step makes."""
        forms = self._rules.may_leave_part(outline.operator, operators_of(outline))
        return [entry for entry, uses in map(self._entry, forms) if Use.UNDOING in uses]

    def _entry(self, form: CompiledRule) -> tuple[Entry, frozenset[Use]]:
        place = id(form)  # the rules keep their forms alive; hashing one goes through all of it
        if place not in self._known:
            entry = form, self._matcher(form)
            self._known[place] = entry, frozenset(self._uses(entry))
        return self._known[place]

    def _uses(self, entry: Entry) -> Iterator[Use]:
        form, seen = entry[0], is_seen_in_views(element_pattern(entry))
        if self._makes_recurrent(form):
            yield Use.CELLS_TOGETHER if form.others else Use.CELL
            return
        if form.others:
            yield Use.TOGETHER
        elif form.folds:
            yield Use.FOLDING
        elif form.merges:
            yield Use.MERGING_SEEN if seen else Use.MERGING_DEEP
        else:
            yield Use.SEEN if seen else Use.DEEP
        if isinstance(form.target, Variable):
            yield Use.UNDOING

    def _makes_recurrent(self, form: CompiledRule) -> bool:
        source, target = (map(self._is_recurrent, postorder(side)) for side in (form.rule.source, form.rule.target))
        return any(target) and not any(source)
