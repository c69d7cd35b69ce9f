"""The NVIDIA GPUs of this machine, as the driver's own tool tells them."""

from __future__ import annotations

import os
import subprocess

FIELDS = ("name", "driver_version", "memory.total", "compute_cap")
LIMIT_S = 30.0


def gpus() -> list[dict[str, str]]:
    """Name, driver, memory and compute capability of each GPU; none where nvidia-smi is missing or fails."""
    command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (row.split(",") for row in done.stdout.splitlines())
    return [dict(zip(FIELDS, map(str.strip, row), strict=False)) for row in rows]


def first_gpu() -> str:
    """The GPU that programs see first, with its driver, as costs name what they hold for; "" where none is listed."""
    found, seen = gpus(), os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    place = int(seen) if seen.isdecimal() and int(seen) < len(found) else 0
    return f"{found[place]['name']}, driver {found[place]['driver_version']}" if found else ""
