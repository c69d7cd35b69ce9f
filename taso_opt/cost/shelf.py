"""What a table holds of kernels that were measured before, handed out as if they were measured now.

A search measures a kernel when it first asks for it, and some once more when it ends. The table keeps every measurement
as it was made, under the number that it had in its run. A later search that asks the same questions in the same order
gets the same answers, and makes of them what the earlier one made: it goes the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from taso_opt.cost.kernels.layout import split_form
from taso_opt.cost.table import CostEntry, CostTable

TIME = " measurement "
"""What stands before the number of a measurement, from the second on."""


class Shelf:
    """The measurements of one place by unit, by whether they are of a unit between convolutions, and by number."""

    def __init__(self, table: CostTable, place: str) -> None:
        self._table, self._place = table, place
        self._kept: dict[tuple[str, bool, int], CostEntry] = {}
        self._put(_at_place(place, table.load(place)))

    def take(self, unit: str, between: bool, time: int) -> CostEntry | None:
        """The measurement of a unit with that number, None if it was never made; `between` asks for its form there."""
        return self._kept.get((unit, between, time))

    def keep(self, times: Mapping[str, int], entries: Iterable[CostEntry]) -> None:
        """Keep new measurements; `times` has the number of each by the key of its unit."""
        numbered = [
            replace(entry, device=self._place, unit=_numbered(entry.unit, times[_unit(entry.unit)]))
            for entry in entries
        ]
        self._table.store(numbered)
        self._put(numbered)

    def _put(self, entries: Iterable[CostEntry]) -> None:
        for entry in entries:
            key, time = _parted(entry.unit)
            self._kept[_unit(key), split_form(key) is not None, time] = replace(entry, unit=key)


def _unit(key: str) -> str:
    """The key of a unit, without its form."""
    parts = split_form(key)
    return key if parts is None else parts[0]


def _at_place(place: str, seconds: Mapping[str, float]) -> Iterable[CostEntry]:
    return (CostEntry(place, unit, cost, math.nan, 0) for unit, cost in seconds.items())


def _numbered(key: str, time: int) -> str:
    return key if time == 1 else f"{key}{TIME}{time}"


def _parted(key: str) -> tuple[str, int]:
    unit, mark, time = key.rpartition(TIME)
    return (unit, int(time)) if mark and time.isdecimal() else (key, 1)
