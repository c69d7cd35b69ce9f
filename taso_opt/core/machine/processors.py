"""How many processors this process may use: of the machine, or of the container that it runs in, if that is less."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from taso_opt.core.machine.control_groups import own_groups


def cores() -> int:
    """Processors that may run at once, shares of one rounded up."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *(quota for group in own_groups("cpu") for quota in _quota(group))]))


def _quota(group: Path) -> Iterator[int]:
    """What a group may use at once, if it is bounded: so many microseconds in each period."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            quota, period = (int(word) for name in names for word in (group / name).read_text().split())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        if quota > 0 and period > 0:
            yield ceil(quota / period)
