"""The cost of a graph by a goal: shares of the original's quantities, weighted, and a price on broken limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from taso_opt.core.term import Term
from taso_opt.cost.goal import FLOPS, LATENCY, LAUNCHES, MEMORY, WEIGHTS, Goal
from taso_opt.cost.kernels.layout import NOTHING, Around, Layouts
from taso_opt.cost.kernels.units import SHAPED, Unit
from taso_opt.cost.kernels.work import constant_bytes, result_bytes
from taso_opt.cost.model import CostModel
from taso_opt.cost.quantities import peak_bytes, unit_flops, weight_bytes
from taso_opt.spec.builder import Builder

BROKEN = 10.0
"""A graph outside the limits costs so many originals more, and the farther outside the more.

The paper makes it cost infinity. A finite price gives the same answer where the original is within the limits, and a
way down to them where it is not.
"""


class TradeCost:
    """Costs by a goal; 1 is the original graph under a goal whose weights add to 1."""

    def __init__(self, goal: Goal, latency: CostModel, builder: Builder, original: Sequence[Term]) -> None:
        """`latency` measures only if latency counts; `builder` gives every size a number, as its own does."""
        self.goal, self._latency, self._builder = goal, latency, builder
        wanted = {name for name, _ in goal.weights}
        self._wanted = wanted | ({MEMORY} if goal.memory_limit is not None else set())
        self._wanted |= {WEIGHTS} if goal.size_growth is not None else set()
        self.adds_up = not self._wanted & {MEMORY, WEIGHTS}
        """Whether a graph costs about what its kernels do: its peak of memory, and weights read twice, are not sums."""
        self.before = self.quantities(original)
        self._local = {name: self._sum(name, original) for name in wanted}
        self._total = sum(weight for _, weight in goal.weights)

    def quantities(self, outputs: Sequence[Term]) -> dict[str, float]:
        """What the goal and its limits ask of a graph: seconds, operations, launches, bytes."""
        found = {}
        for name in sorted(self._wanted):
            if name == MEMORY:
                found[name] = peak_bytes(outputs, self._builder, self._latency.finder)
            elif name == WEIGHTS:
                found[name] = weight_bytes(outputs, self._builder, self._latency.finder.is_constant)
            else:
                found[name] = self._sum(name, outputs)
        return found

    def cost(self, outputs: Sequence[Term]) -> float:
        """The cost of a whole graph; parts of graphs have no peak of memory."""
        found = self.quantities(outputs)
        excess = self._excess(found)
        return self.weighted(found) + (BROKEN * self._total * (1 + excess) if excess else 0.0)

    def weighted(self, found: Mapping[str, float], without: str = "") -> float:
        """The weighted shares of the original's quantities, but for the quantity `without`."""
        return sum(weight * _share(found[n], self.before[n]) for n, weight in self.goal.weights if n != without)

    def is_allowed(self, found: Mapping[str, float]) -> bool:
        """Whether these quantities are within the limits."""
        return self._excess(found) == 0

    def units(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> list[Unit]:
        """What the runtime executes of the terms that the outputs need, down to the boundary."""
        return self._latency.units(outputs, boundary)

    def likeness(self, outputs: Sequence[Term], boundary: Collection[Term], around: Around) -> int:
        """A number for what the outputs need: where it is the same, units and kernels have the same costs."""
        return self._latency.likeness(outputs, boundary, around)

    def learn(self, units: Iterable[Unit]) -> None:
        """Find out how the units run if the goal is about latency too."""
        if LATENCY in self._wanted:
            self._latency.learn(units)

    def kernels(
        self,
        outputs: Sequence[Term],
        boundary: Collection[Term] = (),
        around: Around = NOTHING,
        units: Sequence[Unit] | None = None,
    ) -> Sequence[Unit]:
        """The units as they run in their place, and the conversions between layouts; `units` where they are known."""
        return self._latency.kernels(outputs, boundary, around, units)

    def execution(self, outputs: Sequence[Term]) -> tuple[list[frozenset[Term]], Layouts]:
        """The terms of a graph that the runtime executes together, and the layouts of its values."""
        return self._latency.execution(outputs)

    def prepare(self, units: Iterable[Unit]) -> None:
        """Measure the units if the goal is about latency too."""
        if LATENCY in self._wanted:
            self._latency.prepare(units)

    def known(self, unit: Unit) -> float | None:
        """What one unit adds to the cost, as far as that can be said of one.

        For memory and weights it is a share of the sum over all units: a hint where to look, which the cost of the
        whole graph corrects.
        """
        return self._added(unit, self._latency.known)

    def guess(self, unit: Unit) -> float | None:
        """The same without measuring anything, by what other units of its operators took."""
        return self._added(unit, self._latency.guess)

    def work(self, unit: Unit) -> int:
        """How many multiplications the products and convolutions of one unit take."""
        return self._latency.work(unit)

    def worth(self, unit: Unit) -> float:
        """About how many multiplications take as long as one unit; 0 where its time does not count."""
        return self._latency.worth(unit) if LATENCY in self._wanted else 0.0

    def _added(self, unit: Unit, latency: Callable[[Unit], float | None]) -> float | None:
        parts = [(weight, self._of(name, unit, latency), self._local[name]) for name, weight in self.goal.weights]
        if any(value is None for _, value, _ in parts):
            return None
        return sum(weight * _share(value, whole) for weight, value, whole in parts if value is not None)

    def _sum(self, name: str, outputs: Sequence[Term]) -> float:
        if name == LATENCY:
            return self._latency.cost(outputs)
        return sum(self._of(name, unit, self._latency.known) or 0.0 for unit in self.units(outputs))

    def _of(self, name: str, unit: Unit, latency: Callable[[Unit], float | None]) -> float | None:
        if name == LATENCY:
            return latency(unit)
        if name == FLOPS:
            return unit_flops(unit, self._builder)
        if name == LAUNCHES:
            return float(unit.key != SHAPED)
        if name == MEMORY:
            return result_bytes(unit, self._builder)
        return constant_bytes(unit, self._builder, self._latency.finder)

    def _excess(self, found: Mapping[str, float]) -> float:
        """By which share the limits are exceeded, added up; 0 within them."""
        excess = 0.0
        if self.goal.memory_limit is not None:
            excess += max(0.0, found[MEMORY] / self.goal.memory_limit - 1)
        if self.goal.size_growth is not None:
            most = max(1.0, self.before[WEIGHTS] * (1 + self.goal.size_growth))
            excess += max(0.0, found[WEIGHTS] / most - 1)
        return excess


def _share(value: float, whole: float) -> float:
    """A value as a share of the original's; what cannot be divided by is shared as far as it can be compared."""
    if math.isinf(whole):
        return 1.0 if math.isinf(value) else 0.0
    return value / whole if whole > 0 else value
