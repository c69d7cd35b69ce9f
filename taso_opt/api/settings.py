"""What the functions of the Python interface can be told; each field is an option of the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import TypeGuard

from taso_opt.core.rule import FpClass
from taso_opt.cost import Goal, parse_objective
from taso_opt.errors import UsageError
from taso_opt.runtime import ONNXRUNTIME, TITLES

Sizes = int | Sequence[int]

LEAST_BUDGET, FURTHER_BUDGET, MOST_BUDGET = 40.0, 15.0, 120.0
"""Seconds for the search of a model of up to `MANY_OPERATORS`, for each as many beyond, and at all."""

MANY_OPERATORS = 1000
DEVICES = ("auto", "cpu", "cuda")
BOUNDS = {
    "threads": (0, 1024),
    "seed": (0, math.inf),
    "budget": (0.1, math.inf),
    "alpha": (1.0, 10.0),
    "rounds": (3, 1000),
    "memory_limit": (1, math.inf),
    "max_size_growth": (0, math.inf),
}
"""What numbers may be at least and at most, by the names of settings."""

WHOLE = frozenset({"threads", "seed", "rounds", "memory_limit"})
"""Those of them that are whole numbers."""

KINDS: Mapping[str, tuple[type | UnionType, str]] = {
    "objective": (str, "text"),
    "force": (bool, "True or False"),
    "allow_slower": (bool, "True or False"),
    "dry_run": (bool, "True or False"),
    "dims": (Mapping, "sizes by the names of dims"),
    "cuda_options": (Mapping, "texts by the names of options"),
    "rules": (Path | None, "a path"),
    "output": (Path | None, "a path"),
    "inputs": (Path | None, "a path"),
}
"""What other settings are, and how to say so."""


@dataclass(frozen=True)
class OptimizeSettings:
    """What `tasoopt optimize` can be told; the fields are its options.

    Of several sizes for a dim the first is for costs and measurements, and the outputs are compared at every one.
    `memory_limit` is in bytes, `max_size_growth` in per cent of the bytes of the model's weights. Without a `budget` in
    seconds it is the usual one.
    """

    output: Path | None = None
    force: bool = False
    rules: Path | None = None
    device: str = "auto"
    cuda_options: Mapping[str, str] = field(default_factory=dict)
    runtime: str = ONNXRUNTIME
    threads: int = 1
    budget: float | None = None
    alpha: float = 1.05
    objective: str = "latency"
    memory_limit: int | None = None
    max_size_growth: float | None = None
    allow_slower: bool = False
    fp_class: FpClass = FpClass.E3
    dims: Mapping[str, Sizes] = field(default_factory=dict)
    inputs: Path | None = None
    seed: int = 0
    dry_run: bool = False

    @property
    def bindings(self) -> tuple[dict[str, int], ...]:
        """The sizes that go together: the first of each dim, the second of each; the last stands for further ones."""
        sizes = {name: [size] if isinstance(size, int) else list(size) for name, size in self.dims.items()}
        count = max(map(len, sizes.values()), default=1)
        return tuple({name: all_[min(at, len(all_) - 1)] for name, all_ in sizes.items()} for at in range(count))

    def described(self) -> dict[str, object]:
        """The settings as a report shows them."""
        return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}


def usual_budget(operators: int) -> float:
    """How many seconds the search of a model of so many operators may take if nobody says otherwise."""
    beyond = max(0, operators - MANY_OPERATORS) / MANY_OPERATORS
    return min(LEAST_BUDGET + FURTHER_BUDGET * beyond, MOST_BUDGET)


def goal_of(settings: OptimizeSettings) -> Goal:
    """What the search is to make small; UsageError for an objective or limits that cannot be."""
    growth = None if settings.max_size_growth is None else settings.max_size_growth / 100
    goal = Goal(parse_objective(settings.objective), settings.memory_limit, growth, settings.allow_slower)
    if goal.allow_slower and goal.is_plain_latency:
        raise UsageError("expected another objective than latency, or a limit, beside --allow-slower")
    return goal


@dataclass(frozen=True)
class CompareSettings:
    """What `tasoopt compare` can be told; the fields are its options."""

    device: str = "auto"
    threads: int = 1
    rounds: int = 30
    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Path | None = None
    seed: int = 0
    runtime: str = ONNXRUNTIME
    cuda_options: Mapping[str, str] = field(default_factory=dict)


def require_sound(settings: OptimizeSettings | CompareSettings) -> None:
    """Raise UsageError for settings that no command would take, whoever made them."""
    for what, names, found in (("device", DEVICES, settings.device), ("runtime", tuple(TITLES), settings.runtime)):
        if found not in names:
            raise UsageError(f"expected a {what} among {', '.join(names)}, found {found!r}")
    for one in fields(settings):
        value = getattr(settings, one.name)
        if one.name in BOUNDS and not (value is None and one.default is None):
            _require_within(one.name, value)
        kind, described = KINDS.get(one.name, (object, ""))
        if not isinstance(value, kind):
            raise UsageError(f"expected {described} for {one.name}, found {value!r}")
    for name, text in settings.cuda_options.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise UsageError(f"expected text for option {name!r} of the provider, found {text!r}")
    several = isinstance(settings, OptimizeSettings)
    for name, sizes in settings.dims.items():
        numbers = list(sizes) if several and isinstance(sizes, Sequence) else [sizes]
        if not numbers or not all(_is_number(size, whole=True) and size > 0 for size in numbers):
            raise UsageError(f"expected positive whole numbers for dim {name!r}, found {sizes!r}")


def _require_within(name: str, value: object) -> None:
    (least, most), whole = BOUNDS[name], name in WHOLE
    if not _is_number(value, whole) or not least <= value <= most:
        limits = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        kind = ", a whole number" if whole and not _is_number(value, whole) else ""
        raise UsageError(f"expected {name} {limits}{kind}, found {value!r}")


def _is_number(value: object, whole: bool) -> TypeGuard[float]:
    """Whether it is a number, to Python; truth is none."""
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool)
