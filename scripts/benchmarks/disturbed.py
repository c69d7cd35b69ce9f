"""Costs as they might be on another machine: what was measured, times a factor of its own for each kernel.

A search that goes by costs can be right on one machine by luck. Factors at random, the same for a kernel wherever it
runs and for every search, tell how much of what it finds hangs on the costs being what they are here.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from taso_opt.cost import CostEntry, Measurer, Unit
from taso_opt.cost.kernels.layout import split_form
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.spec.builder import Builder

MOST = 1.25


class DisturbedMeasurer(Measurer):
    """Measures units, and multiplies what they take by a factor between 1 / MOST and MOST, which a draw decides."""

    def __init__(self, draw: int, *measured: Any) -> None:
        """`draw` tells one set of factors from others; the rest is what a Measurer takes."""
        super().__init__(*measured)
        self.draw = draw

    def measure(self, units: Sequence[Unit], builder: Builder, finder: UnitFinder, opset: int) -> list[CostEntry]:
        """One entry for each unit, disturbed."""
        return [self._disturbed(entry) for entry in super().measure(units, builder, finder, opset)]

    def measure_cores(self, units: Sequence[Unit], builder: Builder, finder: UnitFinder, opset: int) -> list[CostEntry]:
        """The same between convolutions, by the same factors."""
        return [self._disturbed(entry) for entry in super().measure_cores(units, builder, finder, opset)]

    def _disturbed(self, entry: CostEntry) -> CostEntry:
        parts = split_form(entry.unit)
        kernel = entry.unit if parts is None else parts[0]
        drawn = int.from_bytes(hashlib.sha256(f"{self.draw}: {kernel}".encode()).digest()[:4], "big") / (1 << 32)
        return replace(entry, seconds=entry.seconds * MOST ** (2 * drawn - 1))
