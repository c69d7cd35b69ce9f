"""The cost of a graph: the sum of its units, each measured once per device (section 2.6 of the paper)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Term
from taso_opt.cost.measure import Measurer, multiplications
from taso_opt.cost.table import CostTable
from taso_opt.cost.units import Unit, UnitFinder, ValueOf
from taso_opt.spec.builder import Builder


class CostModel:
    """Costs in seconds on one device; what is not in the table yet is measured when it is asked for."""

    def __init__(
        self,
        builder: Builder,
        table: CostTable,
        measurer: Measurer,
        opset: int,
        value_of: ValueOf = literal_value,
        heard: Callable[[int], None] = lambda count: None,
    ) -> None:
        """`builder` has bindings that give every size a number; `opset` and the values of constants are the model's.

        `heard` takes the number of units in each batch before it is measured.
        """
        self._heard = heard
        self._builder, self._table, self._measurer, self._opset = builder, table, measurer, opset
        self.finder = UnitFinder(builder, value_of)
        self._work: dict[str, int] = {}
        self._known = table.load(measurer.place)
        self.measured, self.measuring_s = 0, 0.0
        """How many units were measured, and how many seconds that took."""

    @property
    def place(self) -> str:
        """What the costs hold for, as a key of the cost table."""
        return self._measurer.place

    def units(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> list[Unit]:
        """What the runtime executes of the terms that the outputs need, down to the boundary."""
        return self.finder.units(outputs, boundary)

    def groups(self, outputs: Sequence[Term]) -> list[frozenset[Term]]:
        """The terms of a graph that the runtime executes together."""
        return [unit.members for unit in self.units(outputs)]

    def cost(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> float:
        """The cost of the same; measures what is missing in one batch."""
        units = self.units(outputs, boundary)
        self.prepare(units)
        return sum(self._known[unit.key] for unit in units)

    def prepare(self, units: Iterable[Unit]) -> None:
        """Measure all units that are not known yet, in one batch, and remember them."""
        missing = [unit for unit in dict.fromkeys(units) if unit.key not in self._known]
        if not missing:
            return
        self._heard(len(missing))
        started = time.monotonic()
        entries = self._measurer.measure(missing, self._builder, self.finder, self._opset)
        self._table.store(entries)
        self._known.update((entry.unit, entry.seconds) for entry in entries)
        self.measured += len(missing)
        self.measuring_s += time.monotonic() - started

    def known(self, unit: Unit) -> float | None:
        """The cost of one unit, None when it was never measured."""
        return self._known.get(unit.key)

    def work(self, unit: Unit) -> int:
        """How many multiplications the products and convolutions of one unit take."""
        known = self._work.get(unit.key)
        if known is None:
            known = self._work[unit.key] = multiplications(unit, self._builder)
        return known
