"""Measures units: each as a small model of several independent copies, in the runtime's child process.

One run of the runtime costs about a microsecond whatever the model, and a weight that is read over and over stays in
the nearest cache, where in a real model the other weights have driven it out. Copies with inputs and weights of their
own, as many as together have the size of the model's weights, remove both: the cost of a unit is the time of a run,
less the fixed part, divided by the copies. The size is part of what a cost holds for.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from math import prod

from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Const, Term, Var
from taso_opt.core.types import TensorType
from taso_opt.cost.device import this_device
from taso_opt.cost.table import CostEntry
from taso_opt.cost.units import Unit, UnitFinder
from taso_opt.errors import SpecError
from taso_opt.onnx_io import standalone_model
from taso_opt.runtime import (
    MeasureItem,
    MeasurePlan,
    RunSettings,
    RuntimeInfo,
    RuntimeProcess,
    Timing,
    measure_many,
)
from taso_opt.spec.builder import Builder

log = logging.getLogger(__name__)

FIXED_S = 1.1e-6
MOST_COPIES = 32
LARGEST_WORKING_SET = 32 << 20
SMALLEST_WORKING_SET = 1 << 20
COMPUTE_BOUND = 16
"""Multiplications a byte from which on a kernel no longer waits for memory."""

ENOUGH_WORK = 100_000
LARGEST_UNIT = 1 << 30
"""Bytes that a unit may take to be measured: what is larger costs infinity, in every graph that has it."""

IR_VERSION = 8
ITEM_BYTES = {"float32": 4, "float64": 8}
PLAN = MeasurePlan(rounds=7, sample_s=1.5e-3, model_s=0.03)
"""A sample lasts long enough for the copies to settle in the caches, which the models measured beside it share."""


class Measurer:
    """Measures units on one device."""

    def __init__(self, process: RuntimeProcess, run: RunSettings, info: RuntimeInfo, weight_bytes: int) -> None:
        """`weight_bytes` is the size of the weights of the model that the costs are for."""
        self._process, self._run = process, run
        self._working_set = working_set(weight_bytes)
        self._device = this_device(run, info)

    @property
    def place(self) -> str:
        """What the costs hold for, as a key of the cost table."""
        return f"{self._device.key} | working set {self._working_set >> 20} MiB"

    def measure(self, units: Sequence[Unit], builder: Builder, finder: UnitFinder, opset: int) -> list[CostEntry]:
        """One entry for each unit; a unit that the runtime refuses or cannot finish costs infinity."""
        items, copies = [], {}
        for unit in units:
            count = self._copies(unit, builder, finder)
            copies[unit.key] = count
            if _unit_bytes(unit, builder) > LARGEST_UNIT:
                log.info("not measured, too large: %s", unit.key)
                continue
            try:
                items.append(MeasureItem(unit.key, _model(unit, builder, finder, count, opset)))
            except SpecError as error:
                log.info("not measured: %s: %s", unit.key, error)
        timings = measure_many(self._process, items, self._run, PLAN)
        entries = []
        for unit in units:
            timing = timings.get(unit.key)
            if isinstance(timing, Timing):
                seconds = max(timing.median_s - FIXED_S, 0.0) / copies[unit.key]
                spread = timing.spread_s / copies[unit.key]
                entries.append(CostEntry(self.place, unit.key, seconds, spread, timing.samples))
            else:
                entries.append(CostEntry(self.place, unit.key, math.inf, 0.0, 0))
        return entries

    def _copies(self, unit: Unit, builder: Builder, finder: UnitFinder) -> int:
        """As many copies as a clock needs; where a kernel waits for its weights, as many as fill the working set."""
        operands = _operands(unit)
        weights = sum(_bytes(builder.type(operand)) for operand in operands if finder.is_constant(operand))
        rest = sum(_bytes(builder.type(operand)) for operand in operands if not finder.is_constant(operand))
        work = unit_work(unit, builder)
        enough = max(1, min(MOST_COPIES, ENOUGH_WORK // work))
        if weights < rest or work > COMPUTE_BOUND * weights:
            return enough
        return max(enough, min(MOST_COPIES, self._working_set // weights))


def _unit_bytes(unit: Unit, builder: Builder) -> int:
    """The bytes of everything that goes in and out of the members of a unit, once."""
    results = sum(_bytes(kind) for member in unit.members for kind in builder.types(member))
    return results + sum(_bytes(builder.type(operand)) for operand in _operands(unit))


def _bytes(kind: TensorType) -> int:
    return ITEM_BYTES[kind.dtype] * (kind.elements or 0)


def multiplications(unit: Unit, builder: Builder) -> int:
    """The multiplications that the products and convolutions of a unit take; 0 without any."""
    products = [one for one in unit.members if isinstance(one, Apply) and one.operator in ("MatMul", "Conv")]
    return sum(_multiplications(one, builder) for one in products)


def _multiplications(product_: Apply, builder: Builder) -> int:
    elements = sum(kind.elements or 0 for kind in builder.types(product_))
    left, right = (builder.type(operand).shape for operand in product_.args[:2])
    inner = left[-1:] if product_.operator == "MatMul" else right[1:]
    return elements * prod(dim for dim in inner if isinstance(dim, int))


def unit_work(unit: Unit, builder: Builder) -> int:
    """About how many multiplications, or elements moved, a unit takes; at least 1."""
    members = [member for member in unit.members if isinstance(member, Apply)]
    others = [member for member in members if member.operator not in ("MatMul", "Conv")]
    moved = sum(kind.elements or 0 for member in others for kind in builder.types(member))
    return 1 + moved + multiplications(unit, builder)


def working_set(weight_bytes: int) -> int:
    """The size of all copies together: that of the weights, rounded up to a power of two within bounds."""
    size = SMALLEST_WORKING_SET
    while size < min(weight_bytes, LARGEST_WORKING_SET):
        size *= 2
    return size


def _operands(unit: Unit) -> list[Term]:
    """What the unit takes from outside, each once."""
    outside: dict[Term, None] = {}
    seen: set[Term] = set()
    stack: list[Term] = list(reversed(unit.roots))
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if term not in unit.members:
            outside[term] = None
        elif isinstance(term, Apply):
            stack.extend(reversed(term.args))
    return list(outside)


def _model(unit: Unit, builder: Builder, finder: UnitFinder, count: int, opset: int) -> bytes:
    outputs = []
    for copy in range(count):
        leaves: dict[Term, Term] = {}
        for place, operand in enumerate(_operands(unit)):
            leaf = Const if finder.is_constant(operand) else Var
            fresh = leaf(f"copy{copy}_{place}", builder.type(operand))
            number = finder.number(operand)
            leaves[operand] = fresh if number is None else literal(number, fresh.type.dtype)
        outputs += [_copied(root, unit.members, leaves) for root in unit.roots]
    return standalone_model(builder, outputs, opset=opset, ir_version=IR_VERSION)


def _copied(term: Term, members: frozenset[Term], leaves: dict[Term, Term]) -> Term:
    """The members of a unit over other operands, each copied once; a unit is at most some dozens of operators deep."""
    if term not in leaves:
        assert isinstance(term, Apply) and term in members, f"a unit consists of applications, found {term!r}"
        leaves[term] = Apply(
            term.operator, tuple(_copied(operand, members, leaves) for operand in term.args), term.attributes
        )
    return leaves[term]
