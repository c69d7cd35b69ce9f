"""What a run of a small model takes beside its kernels: the call itself, and what comes in and goes out.

On a GPU that is also the time until the caller hears that the last kernel is done, as long as three small kernels take.

Where a kernel takes its inputs from the caller or gives its outputs to them, OpenVINO may copy what it would not copy
between two kernels. So small models are *framed* there: a light operator stands at each input and each output, whose
time is part of the overhead. At large values the copy matters less than that operator would, and these have none.
"""

from __future__ import annotations

from dataclasses import dataclass

from taso_opt.core.term import Term, Var
from taso_opt.core.types import TRUTH, TensorType
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

OPSET, IR_VERSION = 14, 8
SMALL = TensorType("float32", (4, 4))
MOST_FRAMED = 1 << 14
"""Elements of a value that is framed."""

MOST_COPIES = 32
"""Of a kernel in a model."""

PLAN = MeasurePlan(rounds=15, sample_s=1.5e-3, model_s=0.06)


@dataclass(frozen=True)
class Overhead:
    """Seconds of a run without kernels, and what each input, each output and each other shape takes beyond that."""

    run_s: float
    input_s: float = 0.0
    output_s: float = 0.0
    shape_s: float = 0.0

    def without(self, seconds: float, copies: int, ports: tuple[int, int]) -> float:
        """What is left for the kernels of one of several copies, each with so many inputs and outputs."""
        inputs, outputs = ports
        return max((seconds - self.run_s) / copies - self.input_s * inputs - self.output_s * outputs, 0.0)


ONNXRUNTIME_OVERHEAD = Overhead(1.1e-6)


def overhead(process: RuntimeProcess, run: RunSettings, builder: Builder) -> Overhead:
    """The overhead of the runtime that the settings name: known for ONNX Runtime on the CPU, where all is bound before.

    In OpenVINO and on a GPU a run takes ten times as long, and in the former each output more than many kernels do, so
    they are measured, by models that have hardly more than the frames. Where even that fails, nothing is taken off.
    On a GPU another shape takes a third of what a kernel's launch does, though it moves nothing.
    """
    if run.runtime == ONNXRUNTIME and not run.on_gpu:
        return ONNXRUNTIME_OVERHEAD
    models = {"one": _model(builder, 1, 1), "many": _model(builder, MOST_COPIES, 1)}
    if is_framed(run):
        models["more"] = _model(builder, MOST_COPIES, 2)
    else:
        models["more"] = _model(builder, MOST_COPIES, 1, shape=(2, 8))
    timings = measure_many(process, [MeasureItem(*item) for item in models.items()], run, PLAN)
    times = [timing.quiet_s for timing in timings.values() if isinstance(timing, Timing)]
    if len(times) < len(models):
        return Overhead(0.0)
    one, many, more = times
    both_s, more_s = max(many - one, 0.0) / (MOST_COPIES - 1), max(more - many, 0.0) / MOST_COPIES
    run_s = max(one - both_s, 0.0)
    if not is_framed(run):
        return Overhead(run_s, shape_s=more_s)
    input_s = min(more_s, both_s)
    return Overhead(run_s, input_s, both_s - input_s)


def is_framed(run: RunSettings) -> bool:
    """Whether models are framed in the runtime that the settings name."""
    return run.runtime != ONNXRUNTIME


def most_copies(run: RunSettings, ports: tuple[int, int]) -> int:
    """How many copies of a kernel with so many inputs and outputs a model may have, at least one.

    OpenVINO looks each port up among all, so that a port takes the longer the more there are of them: there are as many
    as where the overhead is measured.
    """
    return max(1, MOST_COPIES // max(1, *ports)) if is_framed(run) else MOST_COPIES


def framed_input(builder: Builder, term: Term) -> Term:
    """An input as a kernel reads it in a framed model."""
    return builder.Neg(term) if _is_small(builder, term) else term


def framed_outputs(builder: Builder, term: Term) -> list[Term]:
    """What a framed model gives in place of the outputs of a term."""
    count = len(builder.types(term))
    outputs = [term] if count == 1 else [builder.item(term, index) for index in range(count)]
    return [builder.Relu(output) if _is_small(builder, output) else output for output in outputs]


def _is_small(builder: Builder, term: Term) -> bool:
    """Whether a value is framed: one of numbers, and not large."""
    kind = builder.type(term)
    return kind.dtype != TRUTH and kind.elements is not None and kind.elements <= MOST_FRAMED


def _model(builder: Builder, copies: int, width: int, shape: tuple[int, ...] | None = None) -> bytes:
    """So many sums of small values, each between frames; they have another `shape` there, where one is given."""
    inputs: list[Term] = [Var(f"x{number}", SMALL) for number in range(copies * width)]
    outputs: list[Term] = []
    for copy in range(copies):
        total, *others = (framed_input(builder, term) for term in inputs[copy * width : (copy + 1) * width])
        for other in others:
            total = builder.Add(total, other)
        if shape is not None:
            total = builder.Reshape(total, shape=shape)
        outputs += framed_outputs(builder, total)
    return standalone_model(builder, outputs, inputs, opset=OPSET, ir_version=IR_VERSION)
