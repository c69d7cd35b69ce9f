"""Remembers what a search has found: who asks the same with the same table of costs gets the same answer, at once.

A table holds the costs that a search asked for, but not when its time was up, which depends on how busy the machine
was. So the answer itself is kept: its graphs, the steps that lead to them and what they cost.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

from taso_opt.core.encoding import decoded, encoded
from taso_opt.core.term import Term
from taso_opt.cost import CostTable
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.patterns.pattern import CompiledRule
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.search.plan import Plan, SearchPoint, SearchResult

log = logging.getLogger(__name__)

RuleKey: TypeAlias = tuple[str, str]
"""What tells the forms of rules apart: the name of the rule and, since it is used both ways, its left side."""

MISREAD = (ValueError, TypeError, KeyError, IndexError, AttributeError, zlib.error)
"""What reading raises where a table holds something else than what was written here."""


@dataclass(frozen=True)
class RememberedSearch:
    """The answer to one question at one place of the cost table."""

    table: CostTable
    place: str
    question: str

    def recall(self, outputs: tuple[Term, ...], rules: CompiledRules) -> SearchResult | None:
        """What a search from these outputs has found; None where there was none, or rules are not there any more."""
        kept = self.table.search(self.place, self.question)
        if kept is None:
            return None
        try:
            found = _read(json.loads(zlib.decompress(kept.found)), rules)
        except MISREAD as error:
            log.warning("what an earlier search found cannot be read, and is searched for again: %s", error)
            return None
        return replace(found, recalled_from=kept.made_at) if found.plans[-1].outputs == outputs else None

    def remember(self, found: SearchResult) -> None:
        """Remember what a search has found."""
        written = json.dumps(_written(found), separators=(",", ":"))
        self.table.remember_search(self.place, self.question, zlib.compress(written.encode()))


def _written(found: SearchResult) -> dict[str, Any]:
    steps = [step for plan in found.plans for step in plan.steps]
    graphs = (
        *(plan.outputs for plan in found.plans),
        *found.doubted,
        *(pair for step in steps for pair in step.replacements),
    )
    rows, places = encoded(chain.from_iterable(graphs))
    keys = {_key(step.rule): None for step in steps}
    numbers = {key: number for number, key in enumerate(keys)}

    def step_of(step: Step) -> list[Any]:
        return [numbers[_key(step.rule)], [[places[old], places[new]] for old, new in step.replacements]]

    return {
        "terms": rows,
        "rules": list(keys),
        "plans": [
            [[places[output] for output in plan.outputs], plan.cost, list(map(step_of, plan.steps))]
            for plan in found.plans
        ],
        "doubted": [[places[output] for output in outputs] for outputs in found.doubted],
        "history": [astuple(point) for point in found.history],
        "end": [found.explored, found.expanded, found.seconds, found.stopped_by],
    }


def _read(kept: Mapping[str, Any], rules: CompiledRules) -> SearchResult:
    terms, forms = decoded(kept["terms"]), _forms([(name, source) for name, source in kept["rules"]], rules)

    def step_of(rule: int, pairs: Iterable[tuple[int, int]]) -> Step:
        return Step(forms[rule], tuple((terms[old], terms[new]) for old, new in pairs))

    plans = (
        Plan(tuple(terms[output] for output in outputs), cost, tuple(step_of(*step) for step in steps))
        for outputs, cost, steps in kept["plans"]
    )
    history = tuple(SearchPoint(*point) for point in kept["history"])
    doubted = (tuple(terms[output] for output in outputs) for outputs in kept["doubted"])
    explored, expanded, seconds, stopped_by = kept["end"]
    return SearchResult(tuple(plans), explored, expanded, seconds, stopped_by, history, doubted=tuple(doubted))


def _forms(keys: Collection[RuleKey], rules: CompiledRules) -> list[CompiledRule]:
    """The forms that some keys tell. Raises KeyError for one that the rules do not have."""
    names = {name for name, _ in keys}
    known = {_key(form): form for form in rules.named(names)}
    return [known[key] for key in keys]


def _key(form: CompiledRule) -> RuleKey:
    return form.rule.name, "".join(term.digest.hex() for term in form.rule.source)
