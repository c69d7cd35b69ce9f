"""What else a run of a model moves between two uses of the same memory: as much lies between them in a measurement."""

from __future__ import annotations

from dataclasses import dataclass

from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.cost.kernels.work import kernel_bytes
from taso_opt.onnx_io import Model, weight_bytes
from taso_opt.spec.builder import Builder

SMALLEST, LARGEST = 1 << 20, 32 << 20
"""Bytes that are told apart."""

KERNELS_BETWEEN = 3
"""After how many kernels the runtime uses a buffer again, about: the results of a chain take turns in few buffers."""


@dataclass(frozen=True)
class Surroundings:
    """How many bytes lie between two reads of the same weights, and how many between two uses of one buffer."""

    weights: int = SMALLEST
    buffers: int = SMALLEST

    @classmethod
    def of_model(cls, model: Model, builder: Builder) -> Surroundings:
        """Those of the kernels of a model; `builder` has bindings that give every size a number."""
        units = UnitFinder(builder, model.number).units(model.graph.outputs)
        moved = sum(kernel_bytes(unit, builder) for unit in units)
        return cls(working_set(weight_bytes(model)), distance(KERNELS_BETWEEN * moved // max(1, len(units))))

    def copies(self, weight_bytes: int) -> int:
        """How many copies of a kernel with weights of so many bytes read about as many as the model does."""
        return max(1, round(self.weights / weight_bytes))

    def __str__(self) -> str:
        return f"working set {_mebibytes(self.weights)}, buffers {_mebibytes(self.buffers)} apart"


NOWHERE = Surroundings()
"""Those of a model that is hardly more than one kernel."""


def working_set(weight_bytes: int) -> int:
    """The size of all weights together, rounded to one of few sizes so that models share costs."""
    wanted = min(max(weight_bytes, SMALLEST), LARGEST)
    power = 1 << (wanted.bit_length() - 1)
    return min((power, power * 5 // 4, power * 3 // 2, power * 7 // 4, power * 2), key=lambda size: abs(size - wanted))


def distance(passing_bytes: int) -> int:
    """What passes between two uses of a buffer, rounded to a power of two."""
    wanted = min(max(passing_bytes, SMALLEST), LARGEST)
    power = 1 << (wanted.bit_length() - 1)
    return min((power, power * 2), key=lambda size: abs(size - wanted))


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):g} MiB"
