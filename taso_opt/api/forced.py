"""Writes a rewritten model without asking whether it is faster: for tests of rewriting and writing, not for users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taso_opt.api.session import usable_rules
from taso_opt.core.graph import Graph
from taso_opt.core.rule import FpClass
from taso_opt.onnx_io import read_model, save_atomically, spellable, write_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.wander import wander
from taso_opt.spec import load_specs


@dataclass(frozen=True)
class Forced:
    """What was forced on a model: the names of the rules applied, in order."""

    rules: tuple[str, ...]


def force_rewriting(path: Path, output: Path, *, seed: int = 0, steps: int = 8, shrink: bool = False) -> Forced:
    """Apply up to `steps` random steps of the shipped rules to a model and write the result, measured or not.

    Everything but the choice is what `optimize` does: reading, matching, preconditions, writing, saving. Raises as it.
    """
    model = read_model(path, load_specs())
    rewriter = Rewriter.of_model(model, usable_rules(None, FpClass.E3))
    walk = wander(model.builder, rewriter, model.graph.outputs, spellable(model), seed=seed, steps=steps, shrink=shrink)
    result = write_model(model, Graph(model.graph.inputs, walk.outputs))
    save_atomically(result, output, original=path, source=model.proto)
    return Forced(tuple(step.rule.rule.name for step in walk.steps))
