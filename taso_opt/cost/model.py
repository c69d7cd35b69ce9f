"""The cost of a graph: the sum of its units, each measured once per device (section 2.6 of the paper)."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Term, postorder
from taso_opt.cost.guess import Guesses
from taso_opt.cost.kernels.alike import PartNumbers
from taso_opt.cost.kernels.execution import execution_order
from taso_opt.cost.kernels.layout import NOTHING, Around, Layouts, as_output, is_of_images, lay_out, split_form
from taso_opt.cost.kernels.reuse import Read, Reading, ReadTimes, excess_seconds
from taso_opt.cost.kernels.units import Unit, UnitFinder, ValueOf
from taso_opt.cost.kernels.work import MULTIPLICATIONS_A_SECOND, awaited, multiplications, rough_seconds
from taso_opt.cost.measuring.drift import CANARY
from taso_opt.cost.measuring.measure import (
    NEAREST_CACHE,
    READ_BYTES,
    READ_DISTANCES,
    Measurer,
    read_key,
)
from taso_opt.cost.shelf import Shelf
from taso_opt.cost.stems import Stems, consistent
from taso_opt.cost.table import CostEntry, CostTable
from taso_opt.onnx_io import Model, in_written_order
from taso_opt.spec.builder import Builder

MOST_AGAIN = 48
"""Kernels that are measured a second time at once."""

MOST_GRAPHS = 8
"""Whose units are kept: a graph is asked for its cost, and then for its layouts."""

DISTURBED = 1.2
"""Two times of one kernel that differ by more are not both its own: something has disturbed the longer one."""

Measure = Callable[[Sequence[Unit], Builder, UnitFinder, int], list[CostEntry]]


class CostModel:
    """Costs in seconds on one device; what is not in the table yet is measured when it is asked for.

    Nothing tells whether a cost comes from the table, and so no decision depends on it (see `shelf`).
    """

    adds_up = True
    """Whether a graph costs about what its kernels do."""

    def __init__(
        self,
        builder: Builder,
        table: CostTable,
        measurer: Measurer,
        opset: int,
        value_of: ValueOf = literal_value,
        heard: Callable[[int], None] = lambda count: None,
        in_order: Callable[[Sequence[Term]], Sequence[Term]] = postorder,
        launches: bool = False,
    ) -> None:
        """`builder` has bindings that give every size a number; `opset` and the values of constants are the model's.

        `heard` takes the number of units in each batch before it is measured; `in_order` lists the terms of a graph in
        the order of its file, from which that of execution follows; `launches` is as a Measurer says.
        """
        self._heard, self._in_order = heard, in_order
        self._builder, self._table, self._measurer, self._opset = builder, table, measurer, opset
        self.finder = UnitFinder(builder, value_of, launches)
        self._parts, self._stems, self._guesses = PartNumbers(self.finder), Stems(self.finder), Guesses(builder)
        self._whole_units = lru_cache(MOST_GRAPHS)(self.finder.units)
        self._work: dict[str, int] = {}
        self._known: dict[str, float] = {}
        self._forms: dict[str, str] = {}
        self._awaited: dict[tuple[tuple[Term, ...], frozenset[Term]], list[Read]] = {}
        self._reaches: dict[str, int] = {}
        self._read_times: ReadTimes | None = None
        self._fresh: set[str] = set()
        self._shelf = Shelf(table, self.place)
        self._times: Counter[tuple[str, bool]] = Counter()
        self.measured, self.measuring_s = 0, 0.0
        """How many units were measured, and how many seconds that took."""

    @classmethod
    def of_model(
        cls,
        model: Model,
        builder: Builder,
        table: CostTable,
        measurer: Measurer,
        heard: Callable[[int], None] = lambda count: None,
    ) -> CostModel:
        """The costs of graphs that a model file is rewritten to."""
        in_order = partial(in_written_order, model)
        return cls(builder, table, measurer, model.opset, model.number, heard, in_order, measurer.launches)

    @property
    def place(self) -> str:
        """What the costs hold for, as a key of the cost table: some operators cannot be written in every opset."""
        return f"{self._measurer.place} | opset {self._opset}"

    def units(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> list[Unit]:
        """What the runtime executes together of the terms that the outputs need, down to the boundary."""
        return self.finder.units(outputs, boundary) if boundary else self._whole_units(tuple(outputs))

    def likeness(self, outputs: Sequence[Term], boundary: Collection[Term], around: Around) -> int:
        """A number for what the outputs need: where it is the same, units and kernels have the same costs."""
        return self._parts.number(outputs, boundary, around)

    def kernels(
        self,
        outputs: Sequence[Term],
        boundary: Collection[Term] = (),
        around: Around = NOTHING,
        units: Sequence[Unit] | None = None,
    ) -> Sequence[Unit]:
        """The same as it runs in its place, with the conversions between layouts, as far as is known of them.

        Fusions of what the model gives are kernels of their own: the runtime may not make them there. `units` are what
        the method of that name answers, where the caller has asked before.
        """
        units = self.units(outputs, boundary) if units is None else units
        found = self._laid_out(units, outputs, boundary, around)[0]
        return [as_output(unit, around.given) for unit in found] if around.given else found

    def execution(self, outputs: Sequence[Term]) -> tuple[list[frozenset[Term]], Layouts]:
        """The terms of a graph that the runtime executes together, and the layouts of its values."""
        units = self.units(outputs)
        readers = Around.of_model(outputs)
        return [unit.members for unit in units], self._laid_out(units, outputs, (), readers)[1].with_outputs(outputs)

    def _laid_out(
        self, units: Sequence[Unit], outputs: Sequence[Term], boundary: Collection[Term], around: Around
    ) -> tuple[Sequence[Unit], Layouts]:
        if not (any(self._form(unit) for unit in units) or around.asks_for_blocks):
            return units, Layouts()
        others = self.finder.uncosted(outputs, boundary)
        return lay_out(units, outputs, others, around, self._form, self._builder.types)

    def _form(self, unit: Unit) -> str:
        return self._forms.get(unit.key, "")

    def cost(self, outputs: Sequence[Term]) -> float:
        """The cost of a whole graph in seconds; measures what is missing in one batch.

        It counts in which order the kernels read their weights (see `reuse`).
        """
        kernels = self._measured(outputs)
        alone = sum(self._known[unit.key] for unit in kernels)
        reading = [unit for unit in kernels if self._reads(unit)]
        reads = [read for unit in reading for read in self._reads(unit)]
        if not reads:
            return alone
        if len({read.weights for read in reads}) < len(reads):  # else each lies as far away as all together are large
            place = self._places(outputs, kernels)
            reading.sort(key=lambda unit: max(place.get(member, -1) for member in unit.members))
        readings = [Reading(self._reads(unit), self._known[unit.key], self._reach(unit)) for unit in reading]
        return alone + excess_seconds(readings, (READ_DISTANCES[0], READ_DISTANCES[-1]), self._times_of_reads)

    def _places(self, outputs: Sequence[Term], kernels: Sequence[Unit]) -> Mapping[Term, int]:
        """When the runtime executes the terms of a graph."""
        written = [term for term in self._in_order(outputs) if not self.finder.is_constant(term)]
        fused = [unit.members for unit in kernels if unit.computes("MatMul") or unit.has_convolution]
        return execution_order(written, fused)

    def _reads(self, unit: Unit) -> list[Read]:
        place = unit.roots, unit.members  # what a root is executed with is not the same in every graph
        known = self._awaited.get(place)
        if known is None:
            reads = awaited(unit, self._builder, self.finder)
            known = self._awaited[place] = [read for read in reads if read.size > NEAREST_CACHE]
        return known

    def _reach(self, unit: Unit) -> int:
        """How many bytes of weights were read from one read of a unit's weights to the next when it was measured."""
        known = self._reaches.get(unit.key)
        if known is None:
            known = self._reaches[unit.key] = self._measurer.reach(unit, self._builder, self.finder)
        return known

    def _times_of_reads(self) -> ReadTimes:
        """The seconds that reading weights takes by distance, measured once per device; the same where that fails."""
        if self._read_times is None:
            known = self._table.load(self._measurer.machine)
            keys = [read_key(distance, self._measurer.surroundings.turns) for distance in READ_DISTANCES]
            if any(key not in known for key in keys):
                self._heard(len(READ_DISTANCES))
                started = time.monotonic()
                self._find_pace()
                entries = self._measurer.measure_reads(self._builder, self._opset)
                self._store_finite(entries)
                self.measuring_s += time.monotonic() - started
                known = {entry.unit: entry.seconds for entry in entries}
            times = ((distance, known[key] / READ_BYTES) for distance, key in zip(READ_DISTANCES, keys, strict=True))
            points = tuple((distance, seconds) for distance, seconds in times if math.isfinite(seconds))
            self._read_times = ReadTimes(points or ((READ_DISTANCES[0], 1.0),))
        return self._read_times

    def settle(self, outputs: Sequence[Term]) -> None:
        """Take a rough estimate for what of a graph cannot be measured, so that changes elsewhere can be compared.

        What only other graphs have of that kind goes on to cost infinity.
        """
        for unit in self._measured(outputs):
            if math.isinf(self._known[unit.key]):
                self._known[unit.key] = rough_seconds(unit, self._builder)

    def _measured(self, outputs: Sequence[Term]) -> Sequence[Unit]:
        """The kernels of a graph, all of known cost."""
        units = self.units(outputs)
        self.learn(units)
        kernels = self.kernels(outputs, (), Around.of_model(outputs), units)
        self.prepare(kernels)
        return kernels

    def learn(self, units: Iterable[Unit]) -> None:
        """Find out how units run between convolutions: the convolutions themselves, and all others if these matter."""
        new = [unit for unit in dict.fromkeys(units) if unit.key not in self._forms]
        new = [unit for unit in new if is_of_images(unit, self._builder)]
        cores, known = self._measurer.measure_cores, self._forms
        self._measure(cores, [unit for unit in new if unit.has_convolution], known)
        if any(self._forms.values()):
            self._measure(cores, [unit for unit in new if not unit.has_convolution], known)

    def prepare(self, units: Iterable[Unit]) -> None:
        """Measure all units that are not known yet, in one batch, and remember them."""
        asked = list(dict.fromkeys(units))
        self._measure(self._measurer.measure, [unit for unit in asked if unit.key not in self._known], self._known)
        for unit in asked:
            self._guesses.learn(unit, self._known[unit.key])

    def _measure(self, measure: Measure, missing: Sequence[Unit], known: Collection[str], again: bool = False) -> None:
        """Measure units and those of their stems that are not `known`, and remember them."""
        if not missing:
            return
        new = [unit for unit in self._stems.with_stems(missing) if (unit.key in known) is again]
        entries = self._measurements(measure, new, known is self._forms)
        if again:
            twice = [entry for entry in entries if entry.unit in self._known]
            entries = [replace(entry, seconds=_of_both(self._known[entry.unit], entry.seconds)) for entry in twice]
        else:
            self._fresh.update(entry.unit for entry in entries)
        entries = consistent(entries, self._stems.grown, self._known, self._forms)
        self._remember((entry.unit, entry.seconds) for entry in entries)

    def _measurements(self, measure: Measure, units: Sequence[Unit], between: bool) -> list[CostEntry]:
        """One more measurement of each unit, from the table where it has it; `between` convolutions or alone."""
        times: dict[str, int] = {}
        for unit in units:
            self._times[unit.key, between] += 1
            times[unit.key] = self._times[unit.key, between]
        absent = [unit for unit in units if self._shelf.take(unit.key, between, times[unit.key]) is None]
        if absent:
            self._heard(len(absent))
            started = time.monotonic()
            self._find_pace()
            self._shelf.keep(times, measure(absent, self._builder, self.finder, self._opset))
            self.measured += len(absent)
            self.measuring_s += time.monotonic() - started
        found = (self._shelf.take(unit.key, between, times[unit.key]) for unit in units)
        return [entry for entry in found if entry is not None]

    def slowness(self) -> float:
        """How many times as long the machine takes now as when the table was begun."""
        return self._measurer.measure_canary(self._builder).seconds / self._find_pace()

    def _find_pace(self) -> float:
        """Tell the measurer at which speed the costs of the table were measured; that of now if there are none yet."""
        reference_s = self._measurer.reference_s or self._table.load(self._measurer.machine).get(CANARY)
        if reference_s is None:
            entry = self._measurer.measure_canary(self._builder)
            self._store_finite([entry])
            reference_s = entry.seconds
        self._measurer.reference_s = reference_s
        return reference_s

    def _store_finite(self, entries: Iterable[CostEntry]) -> None:
        """Keep what was measured of the machine; what failed is measured again by the next one who asks."""
        self._table.store([entry for entry in entries if math.isfinite(entry.seconds)])

    def _remember(self, costs: Iterable[tuple[str, float]]) -> None:
        for key, seconds in costs:
            self._known[key] = seconds
            parts = split_form(key)
            if parts is not None:
                self._forms[parts[0]] = parts[1]

    def measure_again(self, first: Sequence[Term], second: Sequence[Term]) -> float:
        """Measure again, in one batch, the kernels in which two graphs differ most, if some were measured once only.

        Kernels that were measured at different times may differ by that alone: the mean of both times counts, or the
        shorter where the other was disturbed. Answers by how many seconds the difference of the graphs changed by it;
        0 where nothing is new.
        """
        doubtful = self._doubtful(self._measured(first), self._measured(second))
        if self._fresh.isdisjoint(doubtful):
            return 0.0
        before = self.cost(first) - self.cost(second)
        forms = {key: split_form(key) for key in doubtful}
        plain = [doubtful[key] for key, parts in forms.items() if parts is None]
        formed = [replace(doubtful[key], key=parts[0]) for key, parts in forms.items() if parts is not None]
        self._fresh.difference_update(doubtful)
        self._measure(self._measurer.measure, plain, self._known, again=True)
        self._measure(self._measurer.measure_cores, formed, self._forms, again=True)
        return abs(self.cost(first) - self.cost(second) - before)

    def _doubtful(self, first: Sequence[Unit], second: Sequence[Unit]) -> dict[str, Unit]:
        """By their keys, the kernels that one graph has more of than another, those first that matter most."""
        more = Counter(unit.key for unit in first)
        more.subtract(unit.key for unit in second)
        units = {unit.key: unit for unit in (*first, *second) if more[unit.key]}
        weight = {key: abs(more[key]) * self._known[key] for key in units if math.isfinite(self._known[key])}
        return {key: units[key] for key in sorted(weight, key=lambda key: (-weight[key], key))[:MOST_AGAIN]}

    def known(self, unit: Unit) -> float | None:
        """The cost of one unit, None when it was never measured."""
        return self._known.get(unit.key)

    def guess(self, unit: Unit) -> float | None:
        """The cost of one unit, or what it may cost by others of its operators; None where nothing tells.

        Only costs that this search has asked for tell: where more was in the table, it goes the same way.
        """
        return self._guesses.seconds(unit)

    def work(self, unit: Unit) -> int:
        """How many multiplications the products and convolutions of one unit take."""
        known = self._work.get(unit.key)
        if known is None:
            known = self._work[unit.key] = multiplications(unit, self._builder)
        return known

    def worth(self, unit: Unit) -> float:
        """About how many multiplications take as long as one unit; 0 where its time is not known."""
        seconds = self.known(unit) or 0.0
        return seconds * MULTIPLICATIONS_A_SECOND if math.isfinite(seconds) else 0.0


def _of_both(first: float, second: float) -> float:
    """One time for a kernel that was measured twice."""
    shorter, longer = sorted((first, second))
    return shorter if longer > DISTURBED * shorter else (shorter + longer) / 2
