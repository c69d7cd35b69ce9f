"""What a search decides: a graph, its predicted cost and the steps that lead to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from taso_opt.core.term import Term
from taso_opt.rewrite.steps import Step


@dataclass(frozen=True)
class Plan:
    """A graph equal to the original one, with the rules applied in order; `cost` is in seconds, as predicted."""

    outputs: tuple[Term, ...]
    cost: float
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class SearchLimits:
    """When to stop: seconds and expanded graphs, in all and since the last improvement worth the name."""

    budget: float = 60.0
    expansions: int = 2000
    patience: int = 60
    patience_s: float = 6.0


@dataclass(frozen=True)
class SearchResult:
    """The cheapest plan for each number of rules, cheapest first, the original graph last, and how the search went."""

    plans: tuple[Plan, ...]
    explored: int
    expanded: int
    seconds: float
    stopped_by: str

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)
