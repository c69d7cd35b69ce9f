"""How much memory is free to this process: of the machine, or of the container that it runs in, whichever is less."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import psutil

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def free_memory() -> int:
    """Bytes that could be taken without swapping, and without being ended for passing a control group's limit."""
    return int(min([psutil.virtual_memory().available, *map(_left, _groups())]))


def _groups() -> Iterator[Path]:
    """The folders of the control groups of this process that limit memory: its own and those around it.

    A container sees its own group as the root, though with version 1 it is named by its place in the host.
    """
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = CONTROL_GROUPS / controllers
        own = root / place.lstrip("/")
        yield from (own, *(folder for folder in own.parents if folder.is_relative_to(root)))


def _left(group: Path) -> float:
    """Bytes that a group has left beside what it keeps of files only until there is need; infinity without limit."""
    for limit, usage, prefix in (
        ("memory.max", "memory.current", ""),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ):
        try:
            most, used = (int((group / name).read_text()) for name in (limit, usage))
            kept = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        return max(0, most - used + sum(int(kept.get(f"{prefix}{name}_file", 0)) for name in ("active", "inactive")))
    return math.inf
