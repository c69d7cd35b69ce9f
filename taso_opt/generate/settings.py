"""What a generation is asked for and what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from itertools import zip_longest
from pathlib import Path

from taso_opt.core.rule import Rule
from taso_opt.errors import UsageError
from taso_opt.semantics.devices import CUPY, NUMPY

VERSION = metadata.version("tasoopt")
LARGEST = 6
LEAST_MEMORY = 1 << 29
"""What one process needs for the smallest pools, with the libraries that it loads."""


@dataclass(frozen=True)
class GenerateSettings:
    """What to look for: operators (None for all) and pools (None for all) by name, how many operators a side, a seed.

    The others say how: the number of processes (None for one a core) or the address of a cluster, how many bytes all
    processes may use together (None for most of what the machine has), the folder that an interrupted run leaves its
    results in and goes on from, and what evaluates the terms, `numpy` or `cupy`. They change nothing of what is found.
    """

    operators: tuple[str, ...] | None = None
    max_ops: int = 3
    jobs: int | None = None
    seed: int = 0
    pools: tuple[str, ...] | None = None
    max_memory: int | None = None
    resume: Path | None = None
    cluster: str | None = None
    array: str = NUMPY

    def __post_init__(self) -> None:
        if not 1 <= self.max_ops <= LARGEST:
            raise UsageError(f"expected 1 to {LARGEST} operators a side for --max-ops, found {self.max_ops}")
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"expected at least one process for --jobs, found {self.jobs}")
        if self.seed < 0:
            raise UsageError(f"expected a number of at least 0 for --seed, found {self.seed}")
        if self.max_memory is not None and self.max_memory < LEAST_MEMORY:
            least, found = LEAST_MEMORY / 2**30, self.max_memory / 2**30
            raise UsageError(f"expected at least {least:g} GiB for --max-memory, found {found:g}")
        if self.array not in (NUMPY, CUPY):
            raise UsageError(f"expected {NUMPY} or {CUPY} for --array, found {self.array!r}")


@dataclass(frozen=True)
class PoolStats:
    """What the shards of one pool gave: (terms, classes) a level, equations suggested, dropped by reason, and left."""

    family: str
    pool: str
    levels: tuple[tuple[int, int], ...]
    claims: int
    dropped: Mapping[str, int]
    kept: int

    def __add__(self, other: PoolStats) -> PoolStats:
        levels = [
            (terms + more_terms, classes + more_classes)
            for (terms, classes), (more_terms, more_classes) in zip_longest(self.levels, other.levels, fillvalue=(0, 0))
        ]
        dropped = dict(Counter(self.dropped) + Counter(other.dropped))
        claims, kept = self.claims + other.claims, self.kept + other.kept
        return PoolStats(self.family, self.pool, tuple(levels), claims, dropped, kept)


@dataclass(frozen=True)
class GenerateStats:
    """The counts of every pool, and what became of what they left when it was put together."""

    pools: tuple[PoolStats, ...]
    shapes: int
    refuted: int
    forms: int
    scalars: int
    definitions: int
    passing: int
    candidates: int


@dataclass(frozen=True)
class Generation:
    """The candidates in the order of their text form, and how they came about."""

    candidates: tuple[Rule, ...]
    stats: GenerateStats
