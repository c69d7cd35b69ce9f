"""How fast the machine is while something is measured, told by a canary: kernels that are timed beside all others.

What else a machine does makes everything on it slower, for a moment or for minutes, by as much as half. Kernels that
are measured in different batches would differ by that alone. So every batch times the canary too, in the same rounds,
and costs are stated for the speed at which it took what it took when the table of costs was begun.

Neighbours do not slow all kernels alike. The canary has one of each of four kinds, of about the same time: a product
that waits for its weights, a convolution that computes, an element-wise function, a reduction.
"""

from __future__ import annotations

from math import exp, log

from taso_opt.core.term import Const, Term, Var
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import standalone_model
from taso_opt.runtime import MeasureItem, MeasurePlan, Timing
from taso_opt.spec.builder import Builder

CANARY = "canary"
"""The key under which the time of the canary is kept."""

PLAN, CANARIES = MeasurePlan(rounds=25, sample_s=1.5e-3, model_s=0.15), 3
"""For the time that all later ones are compared with, and in how many sessions it is measured."""

UNCERTAIN = 0.03
"""By which share the canary's time differs from one batch to the next on a machine that does nothing else."""

WAITING = 0.4
"""How far kernels that wait for their weights follow the canary: farther caches drift less than what computes does."""

FURTHEST = 3.0
"""A canary that takes so many times as long, or as short, was itself disturbed: no machine drifts that far."""

OPSET, IR_VERSION = 13, 8
WINDOWS = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 1}


def at_reference_speed(seconds: float, timing: Timing, reference_s: float | None, waits: bool = False) -> float:
    """A time as it would have been had the canary beside it taken as long as at first.

    The canary has a noise of its own: a small difference counts for little, a large one in full (Wiener's filter).
    What `waits` for its weights follows the canary only in part.
    """
    if reference_s is None or timing.beside_s is None:
        return seconds
    slower = timing.beside_s / reference_s
    if not 1 / FURTHEST < slower < FURTHEST:
        return seconds
    drift = log(slower)
    followed = drift * drift**2 / (drift**2 + UNCERTAIN**2)
    return seconds * exp(-followed * (WAITING if waits else 1.0))


def canary(builder: Builder) -> MeasureItem:
    """The canary as a model to time."""
    row, image = Var("row", _kind(1, 256)), Var("image", _kind(1, 32, 14, 14))
    values, table = Var("values", _kind(64, 256)), Var("table", _kind(4, 64, 128))
    outputs: list[Term] = [
        builder.MatMul(row, Const("weights", _kind(256, 256))),
        builder.Conv(image, Const("kernel", _kind(32, 32, 3, 3)), **WINDOWS),
        builder.Tanh(values),
        builder.Softmax(table, axis=-1),
    ]
    model = standalone_model(builder, outputs, [row, image, values, table], opset=OPSET, ir_version=IR_VERSION)
    return MeasureItem(CANARY, model)


def _kind(*shape: int) -> TensorType:
    return TensorType("float32", shape)
