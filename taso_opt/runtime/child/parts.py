"""The part of a model that is to be timed, as the runtime executes it.

What a kernel costs inside a network is its cost without the conversions of layouts around it. Which layouts it reads
and gives there, only the runtime knows: it lowers the model between convolutions, and the kernel is cut out of that.
What it fuses shows where something uses the results, which it spares where a model gives them.
Copies are made of what is cut out, since lowering takes longer than anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from taso_opt.onnx_io import (
    BLOCKED,
    ModelProto,
    chain,
    cut_to_conversions,
    cut_to_core,
    cut_to_used,
    fill_weights,
    overwritten,
    put_before_users,
    put_between_convolutions,
    repeat,
    set_weights_aside,
)
from taso_opt.runtime.child.engine import NO_WEIGHTS, Weights, refusals
from taso_opt.runtime.child.sessions import lower
from taso_opt.runtime.requests import CORE, FUSED, WHOLE, MeasureItem, Model
from taso_opt.runtime.settings import ONNXRUNTIME, RunSettings


@dataclass(frozen=True)
class Part:
    """A model to run, under which of the runtime's optimizations, and the layouts of its inputs and outputs.

    `weights` are those that the model says lie elsewhere.
    """

    model: Model
    optimization: str
    layouts: str = ""
    weights: Weights = field(default_factory=dict)


def part_of(item: MeasureItem, optimization: str, settings: RunSettings, path: Path) -> Part | None:
    """The part of an item's model that is to be timed; None where the runtime makes nothing of that kind of it.

    `path` is that of a file to be written over. Raises RuntimeFailure.
    """
    if not isinstance(item.model, bytes) or (item.part == WHOLE and item.copies == 1 and not item.weight_bytes):
        return Part(item.model, optimization)
    with refusals("prepare", item.model, settings.runtime):
        model, layouts = ModelProto.FromString(item.model), ""
        if item.part == WHOLE:
            repeat(model, item.copies, item.turns)
        else:
            found = _lower_and_cut(model, item.part, settings, path)
            if found is None:
                return None
            layouts, optimization = found, "none"
            _repeat_lowered(model, item.copies, item.turns)
        weights = _with_weights(model, settings)
        return Part(model.SerializeToString(), optimization, layouts, weights)


def _with_weights(model: ModelProto, settings: RunSettings) -> Weights:
    """Give a hollow model its weights, in place; answers those that are to be handed over beside it."""
    if settings.runtime == ONNXRUNTIME:
        return set_weights_aside(model)
    fill_weights(model)
    return NO_WEIGHTS


def _repeat_lowered(model: ModelProto, copies: int, turns: int) -> None:
    """Copies side by side; where a kernel adds to an operand, in a row, so that it may be written over."""
    added = overwritten(model)
    if added is None:
        repeat(model, copies, turns)
    else:
        assert turns == 1, "what adds to an operand is a convolution, and is timed in one turn"
        chain(model, copies, *added)


def _lower_and_cut(model: ModelProto, part: str, settings: RunSettings, path: Path) -> str | None:
    """Make of a model a part of what the runtime executes, in place; its layouts, None where there is no such part."""
    inputs, outputs = ([value.name for value in values] for values in (model.graph.input, model.graph.output))
    if part in (CORE, FUSED):
        put_before_users(model)
    if part == CORE:
        put_between_convolutions(model)
    weights = set_weights_aside(model)
    lowered = lower(model.SerializeToString(), settings, path, weights)
    model.Clear()
    model.ParseFromString(lowered)
    if part == CORE:
        layouts = cut_to_core(model, inputs, outputs)
        return layouts if BLOCKED in layouts else None
    if part == FUSED:
        cut_to_used(model)
        return ""
    return "" if cut_to_conversions(model, part) else None
