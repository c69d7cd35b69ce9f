"""How much memory this process may use: that of the machine, or of the container that it runs in, if that is less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from taso_opt.core.machine.control_groups import own_groups

NAMES = (
    ("memory.max", "memory.current", ""),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)
"""What files of a control group are called, and how its statistics of all that is in it begin, newer version first."""


def all_memory() -> int:
    """Bytes that there are in all."""
    return int(min([psutil.virtual_memory().total, *(limit.most for limit in _limits())]))


def free_memory() -> int:
    """Bytes that could be taken without swapping, and without being ended for passing a control group's limit."""
    return int(min([psutil.virtual_memory().available, *(limit.left for limit in _limits())]))


@dataclass(frozen=True)
class _Limit:
    """Bytes that a control group may take, and those left beside what it keeps of files only until there is need."""

    most: int
    left: int


def _limits() -> Iterator[_Limit]:
    """The limits of the control groups of this process."""
    for group in own_groups("memory"):
        yield from _limit(group)


def _limit(group: Path) -> Iterator[_Limit]:
    for limit, usage, prefix in NAMES:
        try:
            most, used = (int((group / name).read_text()) for name in (limit, usage))
            kept = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        files = sum(int(kept.get(f"{prefix}{name}_file", 0)) for name in ("active", "inactive"))
        yield _Limit(most, max(0, most - used + files))
