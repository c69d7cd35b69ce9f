"""One optimization: what the stages of it share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taso_opt.api.session import Progress
from taso_opt.api.settings import OptimizeSettings
from taso_opt.core.rule import Rule
from taso_opt.cost import Goal
from taso_opt.onnx_io import Model
from taso_opt.runtime import RunSettings, RuntimeInfo, RuntimeProcess
from taso_opt.search.judging.feeds import NOISE
from taso_opt.search.judging.samples import Sample


@dataclass(frozen=True)
class Job:
    """One optimization: the model, what the user wants, and where it runs.

    `source` is the user's file as it was read, and `model` what is searched: the same, or the source cleaned up by the
    `passes`, which say in a sentence each what they did, and with bodies of control flow rewritten by `inner_rules`.
    What is said of the original is about the source.
    `saved_s` is what the passes save in seconds, as far as the costs of kernels say.
    `remarks` are warnings of what came before the search.
    `budget` is the time for the search in seconds.
    `without` are operators that no rule may bring in.
    `deadline`, by the monotonic clock, is when nothing more is begun that is there for certainty alone.
    `kind` is that of the random floats on which models are compared (see search/judging/kinds.py).
    `obstacle` says why the whole model cannot run here, "" where it can: its rewritten parts are then checked alone.
    """

    source: Model
    model: Model
    output: Path
    settings: OptimizeSettings
    goal: Goal
    samples: Sequence[Sample]
    process: RuntimeProcess
    info: RuntimeInfo
    run: RunSettings
    tell: Progress
    budget: float
    deadline: float
    obstacle: str = ""
    kind: str = NOISE
    passes: tuple[str, ...] = ()
    inner_rules: tuple[Rule, ...] = ()
    remarks: tuple[str, ...] = ()
    saved_s: float = 0.0
    without: frozenset[str] = frozenset()

    @property
    def has_another_base(self) -> bool:
        """Whether what is searched is not the source itself."""
        return bool(self.passes or self.inner_rules)
