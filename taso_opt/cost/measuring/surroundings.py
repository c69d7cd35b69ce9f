"""What else a run of a model moves between two uses of the same memory: as much lies between them in a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import log2

from taso_opt.core.term import Term, is_constant, postorder
from taso_opt.cost.kernels.units import Unit, UnitFinder, operands
from taso_opt.cost.kernels.work import awaited, kernel_bytes, lookups, table_bytes, type_bytes
from taso_opt.onnx_io import Model, weight_bytes
from taso_opt.spec.builder import Builder

SMALLEST, LARGEST = 1 << 20, 32 << 20
"""Bytes that are told apart."""

MOST_TURNS = 16
ENOUGH_READ = 32 << 20
"""Bytes of weights read in one run beside which it does not matter what else happens between two runs."""

KERNELS_BETWEEN = 3
"""After how many kernels the runtime uses a buffer again, about: the results of a chain take turns in few buffers."""


@dataclass(frozen=True)
class Surroundings:
    """How many bytes lie between two reads of the same weights, and how many between two uses of one buffer.

    A run reads its weights in so many `turns`: those of a recurrent network once for each time step.
    """

    weights: int = SMALLEST
    buffers: int = SMALLEST
    turns: int = 1

    @classmethod
    def of_model(cls, model: Model, builder: Builder) -> Surroundings:
        """Those of the kernels of a model; `builder` has bindings that give every size a number."""
        finder = UnitFinder(builder, model.number)
        units = finder.units(model.graph.outputs)
        moved = sum(kernel_bytes(unit, builder) - table_bytes(unit, builder) for unit in units)
        buffers = distance(KERNELS_BETWEEN * moved // max(1, len(units)))
        tables = sum(type_bytes(builder.type(table)) for table in _tables(units) if is_constant(table))
        return cls(working_set(weight_bytes(model) - tables), buffers, turns_of(units, builder, finder))

    def copies(self, weight_bytes: int) -> int:
        """How many copies of a kernel with weights of so many bytes read about as many as the model does."""
        return max(1, round(self.weights / weight_bytes))

    def turns_over(self, weight_bytes: int) -> int:
        """In how many turns weights of so many bytes are read: as many as the model has, as long as that tells."""
        return max(1, min(self.turns, ENOUGH_READ // max(1, weight_bytes)))

    def __str__(self) -> str:
        often = "" if self.turns == 1 else f", read {self.turns} times in a run"
        return f"working set {_mebibytes(self.weights)}{often}, buffers {_mebibytes(self.buffers)} apart"


NOWHERE = Surroundings()
"""Those of a model that is hardly more than one kernel."""


def working_set(weight_bytes: int) -> int:
    """The size of all weights together, rounded to one of few sizes so that models share costs."""
    wanted = min(max(weight_bytes, SMALLEST), LARGEST)
    power = 1 << (wanted.bit_length() - 1)
    return min((power, power * 5 // 4, power * 3 // 2, power * 7 // 4, power * 2), key=lambda size: abs(size - wanted))


def _tables(units: Sequence[Unit]) -> AbstractSet[Term]:
    """What units only look up in: of that they read little."""
    found = {lookup.args[0] for unit in units for lookup in lookups(unit)}
    read = [operand for unit in units if not lookups(unit) for operand in operands(unit) if is_constant(operand)]
    return found - set(postorder(read))


def turns_of(units: Sequence[Unit], builder: Builder, finder: UnitFinder) -> int:
    """How often the kernels of a run read the weights that they wait for, all together, rounded to a power of two."""
    reads = [read for unit in units for read in awaited(unit, builder, finder)]
    once = sum(dict(reads).values())
    often = sum(read.size for read in reads) / once if once else 1.0
    return min(MOST_TURNS, 1 << round(log2(often)))


def distance(passing_bytes: int) -> int:
    """What passes between two uses of a buffer, rounded to a power of two."""
    wanted = min(max(passing_bytes, SMALLEST), LARGEST)
    power = 1 << (wanted.bit_length() - 1)
    return min((power, power * 2), key=lambda size: abs(size - wanted))


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):g} MiB"
