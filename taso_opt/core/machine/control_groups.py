"""The control groups that a process is in, which bound what it may use of a machine, as those of a container do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def own_groups(controller: str) -> Iterator[Path]:
    """The folders of this process's group under a controller such as `memory`, and of those around it; none elsewhere.

    A container sees its own group as the root, though with version 1 it is named by its place in the host.
    """
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if not controllers or controller in controllers.split(","):  # version 2 has all of them in one place
            root = CONTROL_GROUPS / controllers
            own = root / place.lstrip("/")
            yield from (own, *(folder for folder in own.parents if folder.is_relative_to(root)))
