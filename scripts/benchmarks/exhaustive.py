"""Visits every graph that rewriting reaches, and finds the cheapest of them: what a search by cost is measured against.

Nothing of the search is used here: no bound on how much worse a graph may be, no queue by cost, no joint moves and no
patience, only single steps of the rewriter, breadth-first. Rules that add operators lead to graphs without end, so that
a visit is told how many operators a graph may have.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from taso_opt.core.term import Apply, Item, Term, operator_count, postorder
from taso_opt.cost import Around
from taso_opt.onnx_io import PLAIN
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.oracle import CostOracle
from taso_opt.spec.builder import Builder

Outputs = tuple[Term, ...]

AT_ONCE = 200
"""Of how many graphs, the most promising ones, the kernels are measured together."""

SLACK = 0.05
"""By how much of its cost a graph may be cheaper than its kernels alone, because its weights lie nearer."""


@dataclass(frozen=True)
class Visited:
    """The graphs that were reached, each with the graph and the step that led to it first; the start has None there.

    `exhausted` says that no other graph is reached through graphs of so many operators, `everything` that none is at
    all.
    """

    origins: dict[Outputs, tuple[Outputs, Step] | None]
    exhausted: bool
    everything: bool

    def path(self, outputs: Outputs) -> list[Step]:
        """The steps that lead to a graph from where its visit started, in order; one of the shortest ways."""
        steps: list[Step] = []
        origin = self.origins[outputs]
        while origin is not None:
            outputs, step = origin
            steps.append(step)
            origin = self.origins[outputs]
        return steps[::-1]


@dataclass(frozen=True)
class Visitor:
    """Visits graphs by the steps of a rewriter that lead to what is admissible, at most `limit` of them each time."""

    builder: Builder
    rewriter: Rewriter
    admissible: Callable[[Term], bool]
    limit: int

    def visit(self, start: Outputs, most: int) -> Visited:
        """Every graph that is reached from one through graphs of at most so many operators; those on weights count."""
        origins: dict[Outputs, tuple[Outputs, Step] | None] = {start: None}
        waiting, everything = deque(origins), True
        while waiting:
            here = waiting.popleft()
            for step in self.rewriter.steps(postorder(here)):
                there = self._after(here, step)
                if there is None or there in origins:
                    continue
                if operator_count(there) > most:
                    everything = False
                elif len(origins) >= self.limit:
                    return Visited(origins, False, False)
                else:
                    origins[there] = here, step
                    waiting.append(there)
        return Visited(origins, True, everything)

    def widening(self, start: Outputs) -> tuple[list[Visited], int]:
        """Visits that allow one operator more each time, until one finds everything or too much; how many more.

        The number is that of the last visit that was exhausted.
        """
        visits, more, size = list[Visited](), 0, operator_count(start)
        while not visits or (visits[-1].exhausted and not visits[-1].everything):
            visits.append(self.visit(start, size + more))
            more += 1
        return visits, more - 1 if visits[-1].exhausted else more - 2

    def _after(self, here: Outputs, step: Step) -> Outputs | None:
        if not all(self.admissible(new) for _, new in step.replacements):
            return None
        return substitute_terms(self.builder, here, step.mapping)


def cheapest(cost: CostOracle[Any], graphs: Iterable[Outputs], known: Outputs) -> Outputs:
    """The graph of the least cost; `known` is one of them, the cheaper the better.

    Kernels are measured only of graphs that what is known of theirs does not rule out: costs are not negative.
    """
    best, least = known, cost.cost(known)
    waiting = [(graph, _kernels(cost, graph)) for graph in graphs if graph != known]
    while waiting:
        bounds = [sum(cost.known(kernel) or 0.0 for kernel in kernels) for _, kernels in waiting]
        order = sorted(range(len(waiting)), key=bounds.__getitem__)
        open_ = [waiting[at] for at in order if bounds[at] * (1 - SLACK) < least]
        cost.prepare(kernel for _, kernels in open_[:AT_ONCE] for kernel in kernels)
        for graph, _ in open_[:AT_ONCE]:
            price = cost.cost(graph)
            if price < least:
                best, least = graph, price
        waiting = open_[AT_ONCE:]
    return best


def _kernels(cost: CostOracle[Any], graph: Outputs) -> Sequence[Any]:
    units = cost.units(graph)
    cost.learn(units)
    return cost.kernels(graph, (), Around(wanted=frozenset((output, PLAIN) for output in graph)), units)


def described(steps: Sequence[Step]) -> list[str]:
    """One line a step: the rule's name, and what it replaces by what, down to a few operators."""
    return [
        f"{step.rule.rule.name}: " + "; ".join(f"{outline(old)} -> {outline(new)}" for old, new in step.replacements)
        for step in steps
    ]


def outline(term: Term, depth: int = 3) -> str:
    """A term with its operators down to a depth, `...` for what stands below and for long attributes."""
    if isinstance(term, Item):
        return f"{outline(term.term, depth)}[{term.index}]"
    if not isinstance(term, Apply):
        return repr(term).strip("`")
    if depth == 0:
        return f"{term.operator}(...)"
    operands = ", ".join(outline(child, depth - 1) for child in term.children)
    attributes = ", ".join(f"{name}={value}" for name, value in term.attributes)
    return f"{term.operator}({operands}{'; ' if attributes else ''}{shortened(attributes)})"


def shortened(text: str, most: int = 40) -> str:
    """A text, or `...` for one that is too long to be read in passing."""
    return text if len(text) <= most else "..."
