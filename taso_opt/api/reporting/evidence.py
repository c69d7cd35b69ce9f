"""Gathers what a report shows of a plan: the places that it rewrites, and what each kind of kernel costs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from taso_opt.api.reporting.names import Names
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.cost import Around, CostModel, Unit
from taso_opt.onnx_io import Model
from taso_opt.report.drawing import draw_change
from taso_opt.report.evidence import OperatorCost, Place
from taso_opt.rewrite.finding.step import Step
from taso_opt.search.plan import Plan

MOST_DRAWN = 60
MOST_DRAWN_OF_A_RULE = 4
MOST_NAMES = 8
MOST_WORK = 1_000_000
"""Terms that are looked at to find what single steps gain; of many steps in a large model the last ones do not tell."""


@dataclass(frozen=True)
class Evidence:
    """The places and costs of one plan."""

    places: tuple[Place, ...]
    costs: tuple[OperatorCost, ...]


def evidence(model: Model, cost: CostModel, plan: Plan) -> Evidence:
    """What the report shows of a plan; nothing is measured for it that the search has not measured."""
    return Evidence(_places(model, cost, plan.steps), _operator_costs(cost, model.graph.outputs, plan.outputs))


def _places(model: Model, cost: CostModel, steps: Sequence[Step]) -> tuple[Place, ...]:
    names = Names(model)
    drawn: Counter[str] = Counter()
    found = []
    gains = _Gains(cost, model.graph.outputs)
    for number, step in enumerate(steps, start=1):
        names.follow(step)
        before, after = (tuple(pair[side] for pair in step.replacements) for side in (0, 1))
        rule = step.rule.rule.name
        wanted = drawn.total() < MOST_DRAWN and drawn[rule] < MOST_DRAWN_OF_A_RULE
        drawn[rule] += wanted
        drawings = draw_change(before, after, names.name, model.builder.types) if wanted else (None, None)
        replaced = tuple(dict.fromkeys(names.node(term) for term in sorted(before, key=names.rank)))[:MOST_NAMES]
        gain = gains(before, after)
        position = max(names.share(term) for term in before)
        found.append(Place(number, rule, replaced, len(before), position, gain, *drawings))
    return tuple(found)


class _Gains:
    """What steps are predicted to gain alone, as long as that is not too much work."""

    def __init__(self, cost: CostModel, outputs: Sequence[Term]) -> None:
        """`outputs` are the model's; what steps put in their place is found on the way."""
        self._cost, self._given, self._work = cost, set(outputs), 0

    def __call__(self, before: Sequence[Term], after: Sequence[Term]) -> float | None:
        """How many milliseconds a change saves; None when a part of it was never measured, or after too much work."""
        self._given.update(new for old, new in zip(before, after, strict=True) if old in self._given)
        if self._work > MOST_WORK:
            return None
        below, made = (frozenset(postorder(side)) for side in (before, after))
        self._work += len(below) + len(made)
        around = Around(given=frozenset((*before, *after)) & self._given)
        old, new = (_seconds(self._cost, self._cost.kernels(side, below & made, around)) for side in (before, after))
        return None if old is None or new is None else (old - new) * 1e3


def _seconds(cost: CostModel, units: Collection[Unit]) -> float | None:
    total = 0.0
    for unit in units:
        known = cost.known(unit)
        if known is None or not math.isfinite(known):
            return None
        total += known
    return total


def _operator_costs(cost: CostModel, before: Sequence[Term], after: Sequence[Term]) -> tuple[OperatorCost, ...]:
    sides = [_by_kernel(cost, outputs) for outputs in (before, after)]
    kinds = {kind for side in sides for kind in side}
    entries = []
    for kind in kinds:
        (count_before, before_s), (count_after, after_s) = (side.get(kind, (0, 0.0)) for side in sides)
        entries.append(OperatorCost(kind, count_before, count_after, before_s * 1e3, after_s * 1e3))
    return tuple(sorted(entries, key=lambda entry: (-max(entry.before_ms, entry.after_ms), entry.operator)))


def _by_kernel(cost: CostModel, outputs: Sequence[Term]) -> dict[str, tuple[int, float]]:
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for unit in cost.kernels(outputs, around=Around.of_model(outputs)):
        seconds = cost.known(unit)
        count, total = found[_kernel(unit)]
        found[_kernel(unit)] = count + 1, total + (seconds if seconds is not None and math.isfinite(seconds) else 0.0)
    return dict(found)


def _kernel(unit: Unit) -> str:
    """The operators that run as one kernel, in the order of the data."""
    names: list[str] = []
    stack: list[Term] = list(unit.roots)
    seen: set[Term] = set()
    while stack:
        term = stack.pop()
        if term in unit.members and term not in seen and isinstance(term, Apply):
            seen.add(term)
            names.append(term.operator)
            stack.extend(term.args)
    return " + ".join(reversed(names)) or unit.key.partition("(")[0]
