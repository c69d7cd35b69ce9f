"""The part of a model that is to be timed, as the runtime executes it; imported in the child process only.

What a kernel costs inside a network is its cost without the conversions of layouts around it. Which layouts it reads
and gives there, only the runtime knows: it lowers the model between convolutions, and the kernel is cut out of that.
Copies are made of what is cut out, since lowering takes longer than anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taso_opt.onnx_io import (
    BLOCKED,
    ModelProto,
    cut_to_conversions,
    cut_to_core,
    fill_weights,
    put_between_convolutions,
    repeat,
)
from taso_opt.runtime.engine import refusals
from taso_opt.runtime.requests import CORE, WHOLE, MeasureItem, Model
from taso_opt.runtime.sessions import lower
from taso_opt.runtime.settings import RunSettings


@dataclass(frozen=True)
class Part:
    """A model to run, under which of the runtime's optimizations, and the layouts of its inputs and outputs."""

    model: Model
    optimization: str
    layouts: str = ""


def part_of(item: MeasureItem, optimization: str, settings: RunSettings, path: Path) -> Part | None:
    """The part of an item's model that is to be timed; None where the runtime makes nothing of that kind of it.

    `path` is that of a file to be written over. Raises RuntimeFailure.
    """
    if not isinstance(item.model, bytes) or (item.part == WHOLE and item.copies == 1 and not item.weight_bytes):
        return Part(item.model, optimization)
    with refusals("prepare", item.model, settings.runtime):
        model = ModelProto.FromString(item.model)
        if item.part == WHOLE:
            repeat(model, item.copies)
            fill_weights(model)
            return Part(model.SerializeToString(), optimization)
        fill_weights(model)
        inputs, outputs = ([value.name for value in values] for values in (model.graph.input, model.graph.output))
        if item.part == CORE:
            put_between_convolutions(model)
        lowered = ModelProto.FromString(lower(model.SerializeToString(), settings, path))
        layouts = cut_to_core(lowered, inputs, outputs) if item.part == CORE else ""
        found = BLOCKED in layouts if item.part == CORE else cut_to_conversions(lowered, item.part)
        repeat(lowered, item.copies)
        return Part(lowered.SerializeToString(), "none", layouts) if found else None
