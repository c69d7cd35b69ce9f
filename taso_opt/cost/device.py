"""What costs hold for: processors, a provider with its options, a number of threads, a runtime, and the method."""

from __future__ import annotations

import platform
from dataclasses import astuple, dataclass
from pathlib import Path

from taso_opt.runtime import RunSettings, RuntimeInfo

CPU_INFO = Path("/proc/cpuinfo")

METHOD = "method 6"
"""How costs are measured. It changes whenever `measure` and what it stands on do: two ways give different costs."""


@dataclass(frozen=True)
class Device:
    """Costs measured on one device say nothing about another; `threads` 0 is the runtime's own choice."""

    processor: str
    provider: str
    threads: int
    runtime: str
    method: str = METHOD

    @property
    def key(self) -> str:
        """The text under which the cost table keeps this device."""
        return " | ".join(map(str, astuple(self)))


def this_device(run: RunSettings, info: RuntimeInfo) -> Device:
    """The device that a session with these settings runs on."""
    processor = f"{info.gpu} beside {_processor()}" if run.on_gpu else _processor()
    return Device(processor, run.provider, run.threads, info.timed_by or f"{info.package} {info.version}")


def _processor() -> str:
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
