"""The cost of a graph: the sum of its units, each measured once per device (section 2.6 of the paper)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Term
from taso_opt.cost.measure import Measurer
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
    ) -> None:
        """`builder` has bindings that give every size a number; `opset` and the values of constants are the model's."""
        self._builder, self._table, self._measurer, self._opset = builder, table, measurer, opset
        self._finder = UnitFinder(builder, value_of)
        self._known = table.load(measurer.place)

    def units(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> list[Unit]:
        """What the runtime executes of the terms that the outputs need, down to the boundary."""
        return self._finder.units(outputs, boundary)

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
        entries = self._measurer.measure(missing, self._builder, self._finder, self._opset)
        self._table.store(entries)
        self._known.update((entry.unit, entry.seconds) for entry in entries)

    def known(self, unit: Unit) -> float | None:
        """The cost of one unit, None when it was never measured."""
        return self._known.get(unit.key)
