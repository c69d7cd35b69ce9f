"""Measures units: each as a small model of several independent copies, in the runtime's child process.

One run costs something whatever the model (see `overhead`), and memory that is used over and over stays in the nearest
cache, where in a real model other weights and values have driven it out. Copies with inputs and weights of their own
remove both, as many as together move what lies between two uses in the model (see `surroundings`): the cost of a unit
is the time of a run, less the overhead, divided by the copies. What lies between is part of what a cost holds for.

Units of images are measured a second time as they run between convolutions, without the conversions of layouts there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from taso_opt.core.term import Apply, Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost.device import this_device
from taso_opt.cost.kernels.layout import form_key, is_conversion
from taso_opt.cost.kernels.regions import has_seed
from taso_opt.cost.kernels.units import SHAPED, Unit, UnitFinder
from taso_opt.cost.kernels.work import (
    BYTES_A_SECOND,
    MULTIPLICATIONS_A_SECOND,
    awaited,
    constant_bytes,
    is_compute_bound,
    kernel_bytes,
    result_bytes,
    type_bytes,
    unit_bytes,
    unit_work,
)
from taso_opt.cost.measuring.drift import CANARIES, CANARY, at_reference_speed, canary
from taso_opt.cost.measuring.drift import PLAN as CANARY_PLAN
from taso_opt.cost.measuring.overhead import (
    MOST_COPIES,
    Overhead,
    is_framed,
    most_copies,
    overhead,
)
from taso_opt.cost.measuring.steady import measure_steadily
from taso_opt.cost.measuring.surroundings import NOWHERE, Surroundings
from taso_opt.cost.measuring.unit_model import is_elementwise, places_in, unit_model
from taso_opt.cost.table import CostEntry
from taso_opt.errors import SpecError
from taso_opt.onnx_io import (
    FROM_BLOCKED,
    TO_BLOCKED,
    Model,
    OwnSpelling,
    conversion_model,
)
from taso_opt.runtime import (
    CORE,
    FUSED,
    ONNXRUNTIME,
    WHOLE,
    Absent,
    Failed,
    Measured,
    MeasureItem,
    MeasurePlan,
    RunSettings,
    RuntimeInfo,
    RuntimeProcess,
    Timing,
    measure_many,
)
from taso_opt.runtime.inputs import FEW_INTEGERS
from taso_opt.spec.builder import Builder

log = logging.getLogger(__name__)

ENOUGH_WORK = 100_000
LARGEST_UNIT = 1 << 30
"""Bytes that a unit may take to be measured: what is larger costs infinity, but for what the original has of it."""

COPIES_BYTES = 1 << 29
"""Bytes that copies of a unit may take together; one is measured in any case."""

NO_FRAMES = (0, 0)
"""The ports of a model that has no frames to be taken off its time."""

NEAREST_CACHE = 1 << 16
"""Bytes of weights that are near wherever they were before."""

PLACES, PLACES_S = 4, 4e-3
"""Copies of a kernel that computes much, as long as they take no more seconds together."""

FILLS_CACHES = 32 << 20
"""Bytes of weights that no cache holds, wherever in memory they lie."""

GPU_COPIES, GPU_WORK, GPU_BYTES = 8, 1 << 32, 1 << 26
"""Copies of a kernel on a GPU, as long as they have no more work and bytes together: a run takes as long beside them as
three small kernels do."""

READ_SIDE = 512
READ_BYTES = 4 * READ_SIDE**2
READ_DISTANCES = tuple(READ_BYTES * count for count in (1, 2, 4, 8, 16, 24, 32))

PLAN = MeasurePlan(rounds=5, sample_s=1e-3, model_s=0.03, agreement=0.05)
SETTLING_PLAN = MeasurePlan(rounds=5, sample_s=8e-3, model_s=0.06, agreement=0.05)
"""For units that wait for weights: it takes several runs until all copies lie in the farther caches again, from which
the models measured beside them have driven them out."""


@dataclass(frozen=True)
class _Prepared:
    """A unit ready to be timed; without a model it cannot be.

    Each copy has so many inputs and outputs (`ports`); `waits` says that its time is that of reading its weights, all
    of which have `weight_bytes` together and are read in so many `turns`; what goes in and comes out has `value_bytes`,
    and whole numbers in it lie `below` a bound. Where the runtime has no such `part`, or the unit no model, the cost is
    the one given as `otherwise`.
    """

    key: str
    model: bytes | None = None
    copies: int = 1
    ports: tuple[int, int] = (1, 1)
    part: str = WHOLE
    weight_bytes: int = 0
    value_bytes: int = 0
    waits: bool = False
    below: int = FEW_INTEGERS
    turns: int = 1
    otherwise: float = math.inf

    def item(self, model: bytes) -> MeasureItem:
        """What the runtime's process is asked to time."""
        return MeasureItem(
            self.key,
            model,
            part=self.part,
            copies=self.copies,
            turns=self.turns,
            weight_bytes=self.weight_bytes,
            value_bytes=self.value_bytes,
            below=self.below,
        )


class Measurer:
    """Measures units on one device."""

    def __init__(
        self, process: RuntimeProcess, run: RunSettings, info: RuntimeInfo, surroundings: Surroundings = NOWHERE
    ) -> None:
        """`surroundings` are those of the model that the costs are for."""
        self._process, self._run = process, run
        self.surroundings = surroundings if self._shows_parts else replace(surroundings, turns=1)
        self._device = this_device(run, info)
        self._overhead: Overhead | None = None
        self._beside: MeasureItem | None = None
        self.reference_s: float | None = None
        """What the canary took when the table of costs was begun (see `drift`)."""

    @classmethod
    def of_model(
        cls, process: RuntimeProcess, run: RunSettings, info: RuntimeInfo, model: Model, builder: Builder
    ) -> Measurer:
        """Measures what runs in a model; `builder` has bindings that give every size a number."""
        return cls(process, run, info, Surroundings.of_model(model, builder))

    @property
    def place(self) -> str:
        """What the costs hold for, as a key of the cost table."""
        return f"{self._device.key} | {self.surroundings}"

    @property
    def launches(self) -> bool:
        """Whether each operator is launched on a device, as on a GPU."""
        return self._run.on_gpu

    @property
    def machine(self) -> str:
        """What the costs of reading weights and of the canary hold for, as a key of the cost table."""
        return self._device.key

    def measure(self, units: Sequence[Unit], builder: Builder, finder: UnitFinder, opset: int) -> list[CostEntry]:
        """One entry for each unit; a unit that the runtime refuses or cannot finish costs infinity."""
        prepared: list[_Prepared] = []
        for unit in units:
            if is_conversion(unit):
                prepared.append(self._conversion(unit, builder))
            elif unit.key == SHAPED:
                prepared.append(_Prepared(SHAPED, otherwise=self._beside_kernels(builder).shape_s))
            else:
                prepared.append(self._alone(unit, builder, finder, opset))
        return self._entries(prepared, self._timed(prepared, builder))

    def measure_cores(self, units: Sequence[Unit], builder: Builder, finder: UnitFinder, opset: int) -> list[CostEntry]:
        """One entry for each unit of images: its form between convolutions, as a part of its key, and its cost there.

        A unit that runs on plain values has an empty form and costs infinity: what it costs is what it costs alone.
        """
        prepared = [self._core(unit, builder, finder, opset) for unit in units]
        timings = self._timed(prepared, builder)
        return [
            replace(entry, unit=form_key(unit, timing.layouts if isinstance(timing, Timing) else ""))
            for unit, timing, entry in zip(units, timings, self._entries(prepared, timings), strict=True)
        ]

    def measure_spellings(self, nodes: Sequence[OwnSpelling], builder: Builder) -> list[CostEntry]:
        """Two entries for each node, under the keys of `spelling_keys`; what is too large costs infinity.

        Both are timed in one batch. A few copies of each give the mean over places in memory, but for weights that no
        cache holds.
        """
        entries: list[CostEntry] = []
        for node in nodes:
            prepared: list[_Prepared] = []
            weights, values = (sum(map(type_bytes, kinds)) for kinds in (node.weights, node.values))
            few = min(PLACES, max(1, FILLS_CACHES // max(1, weights)))
            copies = min(MOST_COPIES, max(few, self.surroundings.copies(weights) if weights else 1))
            sizes = copies * weights, copies * values, weights > NEAREST_CACHE
            for key, model in zip(spelling_keys(node), (node.in_file, node.by_rules), strict=True):
                timed = model if weights + values <= LARGEST_UNIT else None
                prepared.append(_Prepared(key, timed, copies, NO_FRAMES, WHOLE, *sizes))
            entries += self._entries(prepared, self._timed(prepared, builder))
        return entries

    def measure_reads(self, builder: Builder, opset: int) -> list[CostEntry]:
        """What a product of one row takes by how far its weights, `READ_BYTES`, lie: an entry for each distance."""
        finder = UnitFinder(builder)
        row, weights = TensorType("float32", (1, READ_SIDE)), TensorType("float32", (READ_SIDE, READ_SIDE))
        (unit,) = finder.units([builder.MatMul(Var("row", row), Const("weights", weights))])
        prepared = []
        for distance in READ_DISTANCES:
            copies = distance // READ_BYTES
            model = unit_model(unit, builder, finder, opset, is_framed(self._run))
            turns = self._turns(unit, distance)
            key = read_key(distance, self.surroundings.turns)
            prepared.append(_Prepared(key, model, copies, weight_bytes=distance, waits=True, turns=turns))
        entries = self._entries(prepared, self._timed(prepared, builder))
        return [replace(entry, device=self.machine) for entry in entries]

    def reach(self, unit: Unit, builder: Builder, finder: UnitFinder) -> int:
        """How many bytes of weights are read from one read of a unit's weights to the next while it is measured."""
        weights = sum(read.size for read in awaited(unit, builder, finder))
        return weights * self._copies(unit, builder, weights)

    def measure_canary(self, builder: Builder) -> CostEntry:
        """What the canary takes now; infinity where it cannot be measured."""
        items = [replace(self._canary(builder), key=f"{CANARY} {place}") for place in range(CANARIES)]
        timings = measure_many(self._process, items, self._run, CANARY_PLAN).values()
        known = sorted((one for one in timings if isinstance(one, Timing)), key=lambda one: one.quiet_s)
        if not known:
            return CostEntry(self.machine, CANARY, math.inf, 0.0, 0)
        middle = known[len(known) // 2]
        return CostEntry(self.machine, CANARY, middle.quiet_s, middle.spread_s, middle.samples)

    def _timed(self, prepared: Sequence[_Prepared], builder: Builder) -> list[Measured | None]:
        if all(one.model is None for one in prepared):
            return [None] * len(prepared)
        self._beside_kernels(builder)
        timings: dict[str, Measured] = {}
        for waits, plan in ((False, PLAN), (True, SETTLING_PLAN)):
            items = [one.item(one.model) for one in prepared if one.waits is waits and one.model is not None]
            timings |= measure_steadily(self._process, items, self._run, plan, self._canary(builder))
        return [timings.get(one.key) for one in prepared]

    def _beside_kernels(self, builder: Builder) -> Overhead:
        self._overhead = self._overhead or overhead(self._process, self._run, builder)
        return self._overhead

    def _entries(self, prepared: Sequence[_Prepared], timings: Sequence[Measured | None]) -> list[CostEntry]:
        return [self._entry(one, timing) for one, timing in zip(prepared, timings, strict=True)]

    def _entry(self, one: _Prepared, timing: Measured | None) -> CostEntry:
        if isinstance(timing, Timing):
            assert self._overhead is not None, "known before anything is timed"
            quiet_s = at_reference_speed(timing.quiet_s, timing, self.reference_s, one.waits)
            times = one.copies * one.turns
            seconds = self._overhead.without(quiet_s, times, one.ports)
            return CostEntry(self.place, one.key, seconds, timing.spread_s / times, timing.samples)
        if isinstance(timing, Failed):
            log.info("not measured: %s: %s", one.key, timing.reason)
        is_otherwise = one.model is None or isinstance(timing, Absent)
        return CostEntry(self.place, one.key, one.otherwise if is_otherwise else math.inf, 0.0, 0)

    def _canary(self, builder: Builder) -> MeasureItem:
        if self._beside is None:
            self._beside = canary(builder)
        return self._beside

    def _alone(self, unit: Unit, builder: Builder, finder: UnitFinder, opset: int) -> _Prepared:
        weights = sum(read.size for read in awaited(unit, builder, finder))
        copies = self._copies(unit, builder, weights)
        if unit_bytes(unit, builder) > LARGEST_UNIT:
            log.info("not measured, too large: %s", unit.key)
            return _Prepared(unit.key)
        try:
            model = unit_model(unit, builder, finder, opset, is_framed(self._run))
        except SpecError as error:
            log.info("not measured: %s: %s", unit.key, error)
            return _Prepared(unit.key)
        constants = constant_bytes(unit, builder, finder)
        ports = _ports(unit, builder)
        part = FUSED if self._shows_parts and has_seed(unit.members) and not unit.is_given else WHOLE
        waits = weights > NEAREST_CACHE
        turns = self._turns(unit, copies * weights) if waits else 1
        values = turns * copies * (kernel_bytes(unit, builder) - constants)
        below = places_in(unit, builder)
        return _Prepared(unit.key, model, copies, ports, part, copies * constants, values, waits, below, turns)

    @property
    def _shows_parts(self) -> bool:
        """Whether the provider shows what it makes of a model, and in which layouts."""
        return not self._run.on_gpu and self._run.runtime == ONNXRUNTIME

    def _core(self, unit: Unit, builder: Builder, finder: UnitFinder, opset: int) -> _Prepared:
        if not self._shows_parts:
            return _Prepared(unit.key)
        alone = self._alone(unit, builder, finder, opset)
        copies = max(alone.copies, _in_a_row(unit, builder))
        weights = alone.weight_bytes // alone.copies * copies
        values = alone.value_bytes // (alone.copies * alone.turns) * copies
        return replace(alone, part=CORE, waits=False, copies=copies, turns=1, weight_bytes=weights, value_bytes=values)

    def _conversion(self, unit: Unit, builder: Builder) -> _Prepared:
        """A conversion that the runtime does not make, since the convolutions read the other layout, costs nothing."""
        (image,) = unit.inputs
        kind = builder.type(image)
        shape = [dim for dim in kind.shape if isinstance(dim, int)]
        copies = min(MOST_COPIES, ceil(self.surroundings.buffers / (2 * type_bytes(kind))))
        to_blocked = unit.key.startswith(TO_BLOCKED)
        model, part = conversion_model(shape, to_blocked), TO_BLOCKED if to_blocked else FROM_BLOCKED
        values = copies * 2 * type_bytes(kind)
        return _Prepared(unit.key, model, copies, part=part, value_bytes=values, otherwise=0.0)

    def _turns(self, unit: Unit, weights: int) -> int:
        """In how many turns so many bytes of weights are read in one run of the copies of a unit."""
        return self.surroundings.turns_over(weights) if self._shows_parts and not unit.has_convolution else 1

    def _copies(self, unit: Unit, builder: Builder, weights: int) -> int:
        """As many copies as a clock needs, or as move what lies between two uses of the memory that a kernel waits for.

        What is computed element by element is written over an operand that was just computed: that is near. Of what
        computes much the time depends on where in memory its operands happen to lie: a few copies give the mean.
        """
        enough = max(1, ENOUGH_WORK // unit_work(unit, builder))
        if self._run.on_gpu:
            most = GPU_WORK // unit_work(unit, builder), GPU_BYTES // max(1, kernel_bytes(unit, builder))
            enough = max(enough, min(GPU_COPIES, *most))
        if weights:
            enough = max(enough, self.surroundings.copies(weights))
        elif is_compute_bound(unit, builder, kernel_bytes(unit, builder)):
            enough = max(enough, min(PLACES, int(PLACES_S * MULTIPLICATIONS_A_SECOND / unit_work(unit, builder))))
        elif not is_elementwise(unit, builder):
            enough = max(enough, ceil(self.surroundings.buffers / kernel_bytes(unit, builder)))
        room = max(1, COPIES_BYTES // max(1, kernel_bytes(unit, builder)))  # a table is copied with the rest
        return min(enough, room, most_copies(self._run, _ports(unit, builder)))


def read_key(distance: int, turns: int = 1) -> str:
    """The key under which the cost of reading weights at a distance is kept, in so many turns of a run."""
    often = "" if turns == 1 else f", {turns} times in a run"
    return f"{READ_BYTES >> 20} MiB of weights, the last of {distance >> 20} MiB read in turn{often}"


def spelling_keys(node: OwnSpelling) -> tuple[str, str]:
    """The keys under which the costs of a node are kept: as the file spells it, and as what it is read as."""
    return f"{node.key} in a file", f"{node.key} by rules"


def _in_a_row(unit: Unit, builder: Builder) -> int:
    """How many copies of a convolution that adds to an operand come in a row.

    Inside of a network its result is written over that operand; here the first copy has to move it, which may take
    longer than the convolution: the others together make that little.
    """
    sums = (member for member in unit.members if isinstance(member, Apply) and member.operator == "Add")
    if not unit.has_convolution or not any(operand in unit.inputs for one in sums for operand in one.args):
        return 1
    moving_s = result_bytes(unit, builder) / BYTES_A_SECOND
    wanted = ceil(MOST_COPIES * moving_s * MULTIPLICATIONS_A_SECOND / unit_work(unit, builder))
    return max(1, min(MOST_COPIES, wanted, COPIES_BYTES // max(1, kernel_bytes(unit, builder))))


def _ports(unit: Unit, builder: Builder) -> tuple[int, int]:
    return len(unit.inputs), sum(len(builder.types(root)) for root in unit.roots)
