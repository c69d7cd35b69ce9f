"""What a run of a small model takes beside its kernels: the call itself, and handing over each output."""

from __future__ import annotations

from dataclasses import dataclass

from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import standalone_model
from taso_opt.runtime import (
    ONNXRUNTIME,
    MeasureItem,
    MeasurePlan,
    RunSettings,
    RuntimeProcess,
    Timing,
    measure_many,
)
from taso_opt.spec.builder import Builder

OPSET, IR_VERSION = 13, 8
SMALL = TensorType("float32", (4, 4))
COPIES = 32
PLAN = MeasurePlan(rounds=15, sample_s=1.5e-3, model_s=0.06)


@dataclass(frozen=True)
class Overhead:
    """Seconds of a run without kernels, and of each output beyond that."""

    run_s: float
    output_s: float = 0.0

    def without(self, seconds: float, outputs: int) -> float:
        """What is left for the kernels of a run that takes so many seconds."""
        return max(seconds - self.run_s - self.output_s * outputs, 0.0)


ONNXRUNTIME_OVERHEAD = Overhead(1.1e-6)


def overhead(process: RuntimeProcess, run: RunSettings, builder: Builder) -> Overhead:
    """The overhead of the runtime that the settings name: known for ONNX Runtime, where outputs are bound.

    In OpenVINO a run takes ten times as long, and each output more than many kernels do, so both are measured, by
    models of one kernel that does nearly nothing and of many. Where even that fails, nothing is taken off.
    """
    if run.runtime == ONNXRUNTIME:
        return ONNXRUNTIME_OVERHEAD
    items = [MeasureItem(str(count), _model(builder, count)) for count in (1, COPIES)]
    one, many = measure_many(process, items, run, PLAN).values()
    if not isinstance(one, Timing) or not isinstance(many, Timing):
        return Overhead(0.0)
    output_s = max(many.quiet_s - one.quiet_s, 0.0) / (COPIES - 1)
    return Overhead(max(one.quiet_s - output_s, 0.0), output_s)


def _model(builder: Builder, count: int) -> bytes:
    inputs = [Var(f"x{number}", SMALL) for number in range(count)]
    outputs = [builder.Relu(one) for one in inputs]
    return standalone_model(builder, outputs, inputs, opset=OPSET, ir_version=IR_VERSION)
